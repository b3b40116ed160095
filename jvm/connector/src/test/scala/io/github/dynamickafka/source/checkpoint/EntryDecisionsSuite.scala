package io.github.dynamickafka.source.checkpoint

import java.nio.file.{Files, Path}

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{ClusterIdentity, ClusterView, CompositeOffset, Positions, Retained}
import io.github.dynamickafka.testkit.TimeLimit

class EntryDecisionsSuite extends AnyFunSuite with TimeLimit {

  test("what Spark has deleted does not replace a decision about a newer log") {
    val newer =
      add(DecidedEntries.none, entering("red", at(("t", 0, 4), ("u", 0, 2)), known("t-2", "kafka-2")))
    val older = entering("red", at(("t", 0, 7)), known("t-1", "kafka-1"))
    assert(newer.addOlder(older) == newer, "of another Kafka cluster")
    assert(newer.addOlder(entering("red", at(("t", 0, 7)), known("t-1", "kafka-2"))) == newer, "recreated")
    val same = newer.addOlder(entering("red", at(("t", 0, 7), ("t", 1, 3)), known("t-2", "kafka-2")))
    assert(same.positions("red") == at(("t", 0, 4), ("t", 1, 3), ("u", 0, 2)), "the first decision stays")
    assert(newer.addOlder(entering(
      "blue",
      at(("t", 0, 1)),
      known("t-3", "kafka-3")
    )).positions.contains("blue"))
  }

  test("what returns without a response does not replace a decision about a newer log") {
    val newer = add(DecidedEntries.none, entering("red", at(("t", 0, 4)), known("t-2", "kafka-2")))
    val former = entering("red", at(("t", 0, 7)), known("t-1", "kafka-1"))
    val recreated = entering("red", at(("t", 0, 7)), known("t-1", "kafka-2"))
    val partly = view(known("t-2", "kafka-2"))
    for (silent <- Seq(ClusterView.Unreachable, ClusterView.Pending, partly))
      assert(newer.add(former, Map("red" -> silent)) == newer, silent)
    for (silent <- Seq(ClusterView.Unreachable, ClusterView.Pending))
      assert(newer.add(recreated, Map("red" -> silent)) == newer, silent)
    assert(DecidedEntries.none.add(former, Map("red" -> partly)) == add(DecidedEntries.none, former))
    assert(add(newer, former) == add(DecidedEntries.none, former), "it has responded as the former one again")
  }

  private val query = Files.createTempDirectory("entries-")
  private val folder = query.resolve("sources").resolve("1")
  private def checkpoint() = new SourceCheckpoint(folder.toUri.toString, new Configuration)
  private def at(offsets: (String, Int, Long)*) = Positions.from(offsets)
  private def known(topic: String, cluster: String) =
    ClusterIdentity(Some(cluster), SortedMap("t" -> topic))
  private def entering(
      cluster: String,
      positions: Positions,
      identity: ClusterIdentity = ClusterIdentity.unknown
  ) = CompositeOffset(
    SortedMap(cluster -> positions),
    SortedMap(cluster -> positions),
    identities = if (identity.isEmpty) SortedMap.empty else SortedMap(cluster -> identity)
  )
  private def view(identity: ClusterIdentity) =
    ClusterView.Reachable(Positions.empty, Positions.empty, Positions.empty, identity = identity)
  private def add(to: DecidedEntries, end: CompositeOffset): DecidedEntries =
    to.add(end, end.clusters.keys.map(id => id -> view(end.identity(id))).toMap)
  private def add(to: EntryDecisions, end: CompositeOffset): Unit = to.write(add(to.current, end))
  private val latest = at(("t", 0, 100), ("t", 1, 100))
  private def starts(
      at: SourceCheckpoint,
      cluster: String,
      topicIds: Map[String, String] = Map.empty,
      kafkaId: Option[String] = None
  ) = {
    val identity = ClusterIdentity(kafkaId, SortedMap.from(topicIds))
    val view = ClusterView.Reachable(latest, Positions.empty, latest, identity = identity)
    at.entries.current.in(Map(cluster -> view))(cluster) match {
      case found: ClusterView.Reachable => found.entering
      case other => fail(s"$other")
    }
  }

  test("a decision outlives the run, is decided once, and is forgotten when a committed offset has it") {
    val first = checkpoint()
    add(first.entries, entering("blue", at(("t", 0, 7))))
    add(first.entries, entering("green", at(("t", 0, 1))))
    add(first.entries, entering("blue", at(("t", 0, 9), ("t", 1, 3))))
    val second = checkpoint()
    assert(starts(second, "blue") == at(("t", 0, 7), ("t", 1, 3)))
    second.entries.committed(CompositeOffset(SortedMap("blue" -> at(("t", 0, 20), ("t", 1, 3)))))
    assert(starts(second, "blue") == latest)
    assert(starts(checkpoint(), "green") == at(("t", 0, 1), ("t", 1, 100)))
    val gone = SortedMap("green" -> Retained.at(1L, at(("t", 0, 1))))
    second.entries.committed(CompositeOffset(SortedMap.empty[String, Positions], retained = gone))
    assert(starts(checkpoint(), "green") == latest)
    assert(!Files.exists(folder.resolve("dynamic-kafka").resolve("entries.json")))
  }

  test("a decision is about one log: not about a recreated topic, or another Kafka cluster") {
    add(checkpoint().entries, entering("red", at(("t", 0, 7)), known("t-1", "kafka-1")))
    val second = checkpoint()
    assert(starts(second, "red", Map("t" -> "t-1"), Some("kafka-1")).get("t", 0).contains(7L))
    assert(starts(second, "red", Map("t" -> "t-2"), Some("kafka-1")).isEmpty, "from its beginning")
    assert(starts(second, "red", Map("t" -> "t-1"), Some("kafka-2")) == latest)
    add(second.entries, entering("red", at(("t", 0, 4)), known("t-2", "kafka-1")))
    assert(starts(checkpoint(), "red", Map("t" -> "t-2"), Some("kafka-1")).get("t", 0).contains(4L))
    second.entries.committed(CompositeOffset(SortedMap("red" -> at(("t", 0, 4)))))
  }

  test("the offsets of logged batches that are not committed, in both versions of Spark's log") {
    def log(name: String, batch: Long, text: String): Path = {
      val file = query.resolve(name).resolve(batch.toString)
      Files.createDirectories(file.getParent)
      Files.writeString(file, text)
    }
    log("commits", 3, "v1\n{}")
    log("offsets", 3, "v1\n{}\n{\"a\":3}\n{\"b\":3}")
    log("offsets", 5, "v1\n{}\n-\n{\"b\":5}")
    log("offsets", 6, "v2\n{}\n1:{\"b\":6}\n0:{\"a\":6}")
    log("offsets", 7, "v1\n{}\n{\"a\":7}\n-")
    assert(checkpoint().uncommitted == Seq("{\"b\":5}", "{\"b\":6}"))
  }
}
