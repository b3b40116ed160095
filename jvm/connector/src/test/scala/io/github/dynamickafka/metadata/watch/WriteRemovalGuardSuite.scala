package io.github.dynamickafka.metadata.watch

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, WriteEntry, WriteStream}

/** The guard of a query that writes. */
class WriteRemovalGuardSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def entry(cluster: String, topics: String*) =
    WriteEntry(cluster, SortedMap.from(topics.map(_ -> None)), None, None)

  private def topology(stream: String, entries: WriteEntry*) = Topology(
    streams = SortedMap(stream -> WriteStream(stream, entries)),
    clusters = SortedMap.from(entries.map(e => e.cluster -> cluster(e.cluster)))
  )

  private def cluster(id: String) = TopologyCluster(id, SortedMap.empty, Map("bootstrap.servers" -> s"$id:1"))
  private def of(ids: String*) = topology("s", ids.map(entry(_, "t")): _*)
  private def guard(earlier: String*) = new RemovalGuard("test", None, 2, earlier = earlier.toSet)

  /** The clusters that take writes after each answer, in the order of the metadata. */
  private def used(guard: RemovalGuard, answers: Topology*): Seq[String] =
    answers.map(guard(_).topology.streams.values.flatMap(_.open).mkString)

  test("a cluster takes writes until the second answer in a row lacks it, at its place") {
    assert(used(guard(), of("a", "b", "c"), of("a", "c"), of("a", "c")) == Seq("abc", "abc", "ac"))
    assert(used(guard(), of("a", "b"), of("b"), of("a", "b"), of("b"), of("b")) ==
      Seq("ab", "ab", "ab", "ab", "b"))
    assert(guard()(of("a")) == Guarded(of("a"), open = false))
  }

  test("an answer that lacks more than half of the clusters of a stream is a failure, and changes nothing") {
    val g = guard()
    g(of("a", "b", "c"))
    Seq.fill(3)(of("a")).foreach { answer =>
      val e = intercept[DynamicKafkaIllegalArgumentException](g(answer))
      assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
      assert(e.getMessage.contains("it lacks 2 of the 3 clusters of stream 's' (b, c). "), e.getMessage)
    }
    assert(used(g, of("a", "b", "c")) == Seq("abc"))
    val open = topology("s", (Seq("a") ++ Seq("b", "c")).map(entry(_, "t")): _*)
    val drained =
      topology("s", entry("a", "t"), entry("b", "t").copy(closed = Some("draining")), entry("c", "t"))
    assert(used(guard(), open, drained, of("a"), of("a")) == Seq("abc", "ac", "ac", "a"))
  }

  test("what is listed and takes no writes is left out at once") {
    val closed = topology("s", entry("a", "t"), entry("b", "t").copy(closed = Some("removed")))
    assert(used(guard(), of("a", "b"), closed) == Seq("ab", "a"))
  }

  test("a cluster that another one replaces is left out at once, so that no record is written to both") {
    val replacing = topology("s", entry("b", "t"))
    val next = replacing.copy(clusters = SortedMap("b" -> cluster("b").copy(replaces = Some("a"))))
    assert(used(guard(), of("a"), next) == Seq("a", "b"))
    assert(used(guard(), of("a"), replacing) == Seq("a", "ab"))
  }

  test("a stream is confirmed likewise") {
    val two = Topology(
      streams = of("a").streams ++ topology("u", entry("b", "t")).streams,
      clusters = of("a", "b").clusters
    )
    val g = guard()
    assert(Seq(two, of("a"), of("a")).map(g(_).topology) == Seq(two, two, of("a")))
  }

  test("topics that are missing without others in their place are confirmed, replaced ones are not") {
    def topics(answers: WriteEntry*) = {
      val g = guard()
      answers.map(e => g(topology("s", e)).topology.streams("s").clusters.head.topics.keys.mkString)
    }
    assert(topics(entry("a", "t", "u"), entry("a", "t"), entry("a", "t")) == Seq("tu", "tu", "t"))
    assert(topics(entry("a", "t"), entry("a", "u")) == Seq("t", "u"))
  }

  test("an id that is renamed is not written to under both ids") {
    val renamed = of("a", "x").copy(clusters = of("a").clusters + ("x" -> cluster("b").copy(id = "x")))
    assert(used(guard(), of("a", "b"), renamed) == Seq("ab", "ax"))
    assert(used(guard(), of("a", "b"), of("a", "x")) == Seq("ab", "abx"))
  }

  test(
    "the first answers have to confirm that a cluster of an earlier run, or of an earlier job, is missing"
  ) {
    val restarted = guard("a", "b")
    assert(Seq(of("a"), of("a"), of("a")).map(restarted(_).open) == Seq(true, false, false))
    assert(Seq(of("a"), of("a", "b")).map(guard("a", "b")(_).open).last == false)
    val job = guard()
    job.begin(of("a", "b"))
    assert(job(of("a")) == Guarded(of("a", "b"), open = true))
  }

  test("a cluster never leaves by an answer that the next one contradicts") {
    val answers = Gen.nonEmptyListOf(Gen.oneOf(of("a", "b", "c"), of("a", "b"), of("b", "c"), of("a", "c")))
    forAll(answers) { all =>
      val g = guard()
      val now = all.map(g(_).topology.clusters.keySet)
      val listed = all.map(_.clusters.keySet)
      // In use is what one of the last two answers lists.
      listed.zip(listed.head +: listed).zip(now).foreach { case ((answer, before), in) =>
        assert(in == answer ++ before)
      }
    }
  }
}
