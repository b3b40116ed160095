package io.github.dynamickafka.source.realtime

import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.source.{Entry, Seen}
import io.github.dynamickafka.storage.RawInProcessFiles
import io.github.dynamickafka.testkit.TestAll

/** Changes of the topology while a batch of five minutes runs. */
class RealTimeChangeSuite extends RealTimeTest {

  override def asksInEachTrigger: Boolean = false

  test("a cluster that is added inside a batch is read at once, and the others lose and repeat nothing") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("b", 0, 10))
      produce(green, topic, 2, values("g", 0, 10))
      s.orders(Entry("blue", blue, topic))
      val _ = rows.start(s.frame())
      waitFor("blue")(rows.seen.size == 10)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      waitFor("green")(rows.seen.size == 20)
      produce(blue, topic, 2, values("b", 10, 15))
      produce(green, topic, 2, values("g", 10, 15))
      waitFor("both")(rows.seen.size == 30)
      assertSame(rows.seen, storedOnBoth(topic))
      val logged = rows.logged(rows.log("offsets").last)
      assert(
        logged.entered("green").of(topic).values.toSet == Set(0L),
        "the end of the batch has what enters"
      )
    }
  }

  test(
    "what enters is stored while others are read; after the tasks have ended only Spark's logs are written"
  ) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      produce(green, topic, 1, values("g", 0, 1))
      s.orders(Entry("blue", blue, topic))
      val _ = rows.start(s.frame())
      produce(blue, topic, 1, values("b", 0, 1))
      waitFor("blue")(rows.seen.size == 1)
      val (isStoring, mayStore) = (new CountDownLatch(1), new CountDownLatch(1))
      val written = new ConcurrentLinkedQueue[String]
      RawInProcessFiles.renaming = path =>
        if (path.toString.contains(s.checkpoint.toString) && !path.getName.endsWith(".crc")) {
          val _ = written.add(s"${path.getParent.getName}/${path.getName}")
          if (path.getName == "entries.json") {
            isStoring.countDown()
            mayStore.await()
          }
        }
      try {
        s.change(Entry("blue", blue, topic), Entry("green", green, topic))
        isStoring.await()
        produce(blue, topic, 1, values("b", 1, 2))
        waitFor("a record while the position is stored")(rows.seen.size == 2)
        mayStore.countDown()
        waitFor("green")(rows.seen.size == 3)
      } finally {
        mayStore.countDown()
        RawInProcessFiles.renaming = _ => ()
      }
      // What was read last is written by a thread of its own, for which no batch waits.
      assert(
        written.asScala.toSeq.filterNot(_.endsWith("/read.json")) ==
          Seq("topology/1.json", "dynamic-kafka/entries.json", "offsets/0", "commits/0")
      )
    }
  }

  test("newClusterStartingOffsets=latest: what is written after the batch has ended is read") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      produce(green, topic, 1, values("old", 0, 5))
      s.orders(Entry("blue", blue, topic))
      val _ = rows.start(s.frame("newClusterStartingOffsets" -> "latest"))
      produce(blue, topic, 1, values("b", 0, 1))
      waitFor("blue")(rows.seen.size == 1)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      eventually(assert(rows.log("offsets").nonEmpty))
      produce(green, topic, 1, values("new", 0, 3))
      waitFor("green")(rows.seen.size == 4)
      assert(rows.seen.filter(_.cluster == "green").map(_.value) == values("new", 0, 3))
    }
  }

  test("a removed cluster is not read, and resumes exactly when it returns") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue, green)
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      s.orders(a, b)
      val _ = rows.start(s.frame())
      produce(green, topic, 2, values("g", 0, 6))
      waitFor("green")(rows.seen.size == 6)
      s.change(a)
      eventually(assert(rows.log("offsets").lastOption.exists(rows.logged(_).retained.contains("green"))))
      produce(green, topic, 2, values("away", 0, 4))
      produce(blue, topic, 2, values("b", 0, 4))
      waitFor("blue")(rows.seen.size == 10)
      s.change(a, b)
      waitFor("green again")(rows.seen.size == 14)
      assertSame(rows.seen, storedOnBoth(topic))
    }
  }

  test("a cluster that drains is read up to its end of that moment, and retires inside the batch") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue, green)
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      s.orders(a, b)
      val _ = rows.start(s.frame())
      produce(green, topic, 2, values("g", 0, 8))
      waitFor("green")(rows.seen.size == 8)
      s.change(a, b.draining)
      eventually(
        assert(
          rows.log("offsets").lastOption.exists(rows.logged(_).retained.get("green").exists(_.drained(topic)))
        )
      )
      produce(green, topic, 2, values("late", 0, 4))
      produce(blue, topic, 2, values("b", 0, 4))
      waitFor("blue")(rows.seen.size == 12)
      assertSame(
        rows.seen,
        stored("blue", blue, topic) ++ stored("green", green, topic).filterNot(_.value.startsWith("late"))
      )
    }
  }

  test("partitions and topics of a pattern that appear inside a batch are read") {
    realTime { (s, rows) =>
      val prefix = newTopic("pattern")
      val first = s"$prefix-a"
      blue.createTopic(first, 1)
      s.orders(Entry("blue", blue).matching(s"$prefix-.*"))
      val _ = rows.start(s.frame())
      produce(blue, first, 1, values("a", 0, 2))
      waitFor("rows")(rows.seen.size == 2)
      blue.addPartitions(first, 3)
      produce(blue, first, 3, values("more", 0, 6))
      waitFor("added partitions")(rows.seen.size == 8)
      val second = s"$prefix-b"
      blue.createTopic(second, 1)
      produce(blue, second, 1, values("b", 0, 2))
      waitFor("the added topic")(rows.seen.size == 10)
      assertSame(rows.seen, stored("blue", blue, first) ++ stored("blue", blue, second))
    }
  }

  test("a cluster that moves to another address is read there", TestAll) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, red)
      s.orders(Entry("red", red, topic))
      val _ = rows.start(s.frame("clusterFailurePolicy" -> "skip"))
      produce(red, topic, 1, values("a", 0, 2))
      waitFor("rows")(rows.seen.size == 2)
      red.restartOnNewPort()
      s.change(Entry("red", red, topic))
      produce(red, topic, 1, values("b", 0, 2))
      waitFor("rows at the new address")(rows.seen.size == 4)
      assertSame(rows.seen, stored("red", red, topic))
    }
  }

  test(
    "skip: a cluster that dies ends no batch, is back inside the batch, and the others are read meanwhile"
  ) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      val _ = rows.start(s.frame("clusterFailurePolicy" -> "skip", "clusterRequestTimeoutMs" -> "3000"))
      produce(red, topic, 1, values("r", 0, 2))
      waitFor("rows")(rows.seen.size == 2)
      val batches = rows.log("offsets").size
      red.kill()
      produce(blue, topic, 1, values("b", 0, 2))
      waitFor("rows of the other cluster")(rows.seen.size == 4)
      red.restart()
      produce(red, topic, 1, values("back", 0, 2))
      waitFor("rows of the cluster that is back")(rows.seen.size == 6)
      assert(rows.log("offsets").size == batches)
      assertSame(rows.seen, stored("blue", blue, topic) ++ stored("red", red, topic))
    }
  }

  test("fail: a cluster that dies ends the query with its name, and what was read is logged") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      val query = rows.start(s.frame("clusterRequestTimeoutMs" -> "3000"))
      produce(blue, topic, 1, values("b", 0, 2))
      waitFor("rows")(rows.seen.size == 2)
      killed(red) {
        val e = failure(query)
        assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("red"), text(e))
        assert(rows.logged(rows.log("commits").last).position("blue").get(topic, 0).contains(2L))
      }
      val again = rows.start(s.frame())
      produce(red, topic, 1, values("r", 0, 1))
      waitFor("rows after the restart")(rows.seen.size == 3)
      assert(again.isActive)
    }
  }

  test("flapping metadata make no storm of batches, and lose and repeat nothing") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      s.orders(a, b)
      val _ = rows.start(s.frame("realTimeMinBatchMs" -> "2000"))
      produce(blue, topic, 1, values("b", 0, 1))
      waitFor("rows")(rows.seen.size == 1)
      val (batches, begun) = (rows.log("offsets").size, System.nanoTime())
      (1 to 6).foreach { i =>
        s.change((if (i % 2 == 1) Seq(a) else Seq(a, b)): _*)
        produce(green, topic, 1, values(s"g$i-", 0, 2))
      }
      waitFor("rows of both")(rows.seen.size == 13)
      val elapsedMs = (System.nanoTime() - begun) / 1000000L
      assert(rows.log("offsets").size - batches <= elapsedMs / 2000 + 1)
      assertSame(rows.seen, storedOnBoth(topic))
    }
  }

  test("two sources of one query end together") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      s.orders(Entry("blue", blue, topic))
      val frame = s.frame("realTimeTasks" -> "1").union(s.frame("realTimeTasks" -> "1"))
      val _ = rows.start(frame)
      produce(blue, topic, 1, values("b", 0, 2))
      waitFor("rows")(rows.seen.size == 4)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      produce(green, topic, 1, values("g", 0, 2))
      waitFor("rows of both")(rows.seen.size == 8)
      def twice(all: Seq[Seen]) = all ++ all
      assertSame(rows.seen, twice(storedOnBoth(topic)))
    }
  }

  test("more tasks than cores: the batch ends, and the next one has fewer", TestAll) {
    realTime { (s, rows) =>
      val topic = newTopicOn(6, blue)
      produce(blue, topic, 6, values("b", 0, 12))
      s.orders(Entry("blue", blue, topic))
      val _ = rows.start(s.frame("realTimeTasks" -> "6"))
      waitFor("the rows of all partitions")(rows.seen.size == 12)
      assertSame(rows.seen, stored("blue", blue, topic))
    }
  }
}
