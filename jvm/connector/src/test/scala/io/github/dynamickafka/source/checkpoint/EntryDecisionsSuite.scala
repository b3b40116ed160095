package io.github.dynamickafka.source.checkpoint

import java.nio.file.{Files, Path}

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{CompositeOffset, Entries, Positions, Retained}
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.topology.OffsetsPolicy

class EntryDecisionsSuite extends AnyFunSuite with TimeLimit {

  private val query = Files.createTempDirectory("entries-")
  private val folder = query.resolve("sources").resolve("1")
  private def checkpoint() = new SourceCheckpoint(folder.toUri.toString, new Configuration)
  private def at(offsets: (String, Int, Long)*) = Positions.from(offsets)
  private def starts(at: SourceCheckpoint, cluster: String) =
    at.entries.handOver.start(cluster, "t", OffsetsPolicy.Latest)

  test("a decision outlives the run, is decided once, and is forgotten when a committed offset has it") {
    val first = checkpoint()
    first.entries.add(Entries(SortedMap("blue" -> at(("t", 0, 7)), "green" -> at(("t", 0, 1)))))
    first.entries.add(Entries(SortedMap("blue" -> at(("t", 0, 9), ("t", 1, 3)))))
    val second = checkpoint()
    starts(second, "blue") match {
      case after: OffsetsPolicy.After =>
        assert(after.offsets == SortedMap(0 -> 7L, 1 -> 3L))
        assert(after.rest == OffsetsPolicy.Latest)
      case other => fail(s"$other")
    }
    second.entries.committed(CompositeOffset(SortedMap("blue" -> at(("t", 0, 20), ("t", 1, 3)))))
    assert(starts(second, "blue") == OffsetsPolicy.Latest)
    assert(starts(checkpoint(), "green") != OffsetsPolicy.Latest)
    val gone = SortedMap("green" -> Retained.at(1L, at(("t", 0, 1))))
    second.entries.committed(CompositeOffset(SortedMap.empty[String, Positions], retained = gone))
    assert(starts(checkpoint(), "green") == OffsetsPolicy.Latest)
    assert(!Files.exists(folder.resolve("dynamic-kafka").resolve("entries.json")))
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
    assert(checkpoint().ofQuery.uncommitted == Seq("{\"b\":5}", "{\"b\":6}"))
  }
}
