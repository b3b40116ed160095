package io.github.dynamickafka.sink

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.{ClusterRouting, ClusterScope, SinkOptions}
import io.github.dynamickafka.metadata.{Topology, WriteEntry, WriteStream}
import io.github.dynamickafka.testkit.TimeLimit

/** Which clusters a batch is written without, and which are asked. */
class WriteFailoverSuite extends AnyFunSuite with TimeLimit {
  import ClusterRouting.{First, Key}

  private final class Scene(routing: ClusterRouting, streams: Seq[String]*) {
    val clock = new ManualClock
    var down = Set.empty[String]
    var address = "x:1"

    /** The clusters that were asked, a set for each round. */
    var asked = Seq.empty[Set[String]]
    private val topology = Topology(
      streams = SortedMap.from(streams.zipWithIndex.map { case (ids, n) =>
        s"s$n" -> WriteStream(
          s"s$n",
          ids.map(id =>
            WriteEntry(
              id.stripPrefix("-"),
              SortedMap("t" -> None),
              None,
              Option.when(id.startsWith("-"))("it is draining")
            )
          )
        )
      }),
      clusters = SortedMap.empty
    )
    private val failover = new WriteFailover(
      routing,
      ids => {
        asked :+= ids.toSet
        ids.map(id => id -> Option.when(down(id))(new IllegalStateException(s"$id is down"))).toMap
      },
      clock
    )

    private def properties = streams.flatten.map(_.stripPrefix("-")).map { id =>
      id -> new ClusterScope(WriteFailoverSuite.options.clusters, Set(id))
        .producer(id, Map("bootstrap.servers" -> address))
    }.toMap

    /** What the next batch is written without. */
    def batch(): Set[String] = {
      asked = Nil
      failover.notResponding(topology, properties)
    }
  }

  test("key: all clusters that take writes are asked at once, for each batch") {
    val s = new Scene(Key, Seq("a", "b", "-z"), Seq("b", "c"))
    assert(s.batch().isEmpty && s.asked == Seq(Set("a", "b", "c")))
    s.down = Set("b")
    assert(s.batch() == Set("b") && s.asked == Seq(Set("a", "b", "c")))
  }

  test("first: only the first cluster of a stream is asked; if it does not respond, all others at once") {
    val s = new Scene(First, Seq("-z", "b", "a", "c"), Seq("d"))
    assert(s.batch().isEmpty && s.asked == Seq(Set("b", "d")))
    s.down = Set("b", "a")
    assert(s.batch() == Set("a", "b") && s.asked == Seq(Set("b", "d"), Set("a", "c")))
    assert(s.batch() == Set("a", "b") && s.asked == Seq(Set("c", "d")))
  }

  test(
    "one that is left out is asked again after a while, so that not each batch waits for it, and then used again"
  ) {
    val s = new Scene(Key, Seq("a", "b", "c"))
    s.down = Set("b")
    assert(s.batch() == Set("b"))
    s.down = Set.empty
    s.clock.advanceMs(WriteFailover.HoldMs - 1)
    assert(s.batch() == Set("b") && s.asked == Seq(Set("a", "c")))
    s.clock.advanceMs(1)
    assert(s.batch().isEmpty && s.asked == Seq(Set("a", "b", "c")))
    assert(s.batch().isEmpty && s.asked == Seq(Set("a", "b", "c")))
  }

  test("one that still does not respond then is left out for as long again") {
    val s = new Scene(Key, Seq("a", "b"))
    s.down = Set("b")
    (0 until 3).foreach { _ =>
      assert(s.batch() == Set("b") && s.asked == Seq(Set("a", "b")))
      s.clock.advanceMs(WriteFailover.HoldMs / 2)
      assert(s.batch() == Set("b") && s.asked == Seq(Set("a")))
      s.clock.advanceMs(WriteFailover.HoldMs / 2)
    }
  }

  test("another address or other credentials in the metadata are tried at once") {
    val s = new Scene(Key, Seq("a", "b"))
    s.down = Set("b")
    assert(s.batch() == Set("b"))
    s.down = Set.empty
    s.address = "x:2"
    assert(s.batch().isEmpty && s.asked == Seq(Set("a", "b")))
  }

  test("a stream whose other clusters fail too asks those again that are left out") {
    Seq(Key, First).foreach { routing =>
      val s = new Scene(routing, Seq("a", "b"), Seq("c", "d"))
      s.down = Set("a", "d")
      val _ = s.batch()
      s.down = Set("b", "d")
      assert(s.batch().contains("b") && !s.batch().contains("a"), routing)
    }
  }

  test("the question takes at most five seconds, and no longer than any other request") {
    assert(WriteFailover.limitMs(WriteFailoverSuite.options) == 5000L)
    assert(WriteFailover.limitMs(WriteFailoverSuite.optionsWith("clusterRequestTimeoutMs" -> "700")) == 700L)
  }
}

private object WriteFailoverSuite {
  def optionsWith(more: (String, String)*) = {
    val all = new java.util.HashMap[String, String]
    (Seq("metadataService" -> "file", "streamId" -> "s") ++ more).foreach { case (k, v) => all.put(k, v) }
    SinkOptions.parse(new CaseInsensitiveStringMap(all))
  }
  val options = optionsWith()
}
