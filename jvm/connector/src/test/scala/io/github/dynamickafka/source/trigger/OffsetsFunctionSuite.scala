package io.github.dynamickafka.source.trigger

import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.OffsetsInitializer
import io.github.dynamickafka.source.{Entry, Queries, Query, Seen}

/** Start and stopping positions that a function of the user determines. */
class OffsetsFunctionSuite extends Queries {

  private type Calls = ConcurrentLinkedQueue[(String, String, Seq[Int])]

  private def recorded(calls: Calls)(offsets: Map[String, Map[Int, Long]]) =
    OffsetsInitializer.of { (cluster, topic, partitions) =>
      calls.add((cluster, topic, partitions))
      offsets(cluster)
    }

  private def from(s: Query, topic: String)(keeps: Seen => Boolean): Unit =
    assertSame(
      s.seen,
      storedOnBoth(topic).filter(keeps)
    )

  test("a start by a function is called once per topic of a cluster, and never after it is durable") {
    onBoth(values("v", 10)) { (s, topic) =>
      val calls = new Calls
      val start = recorded(calls)(Map("blue" -> Map(0 -> 3L, 1 -> -1L), "green" -> Map(0 -> -2L, 1 -> 4L)))
      s.catchUp(start.startingOptions: _*)
      from(s, topic)(r =>
        r.offset >= Map("blue0" -> 3L, "blue1" -> 5L, "green0" -> 0L, "green1" -> 4L)(r.cluster + r.partition)
      )
      assert(
        calls.asScala.toSeq.sortBy(_._1) == Seq(("blue", topic, Seq(0, 1)), ("green", topic, Seq(0, 1)))
      )
      // After a restart a function has another handle.
      val again = OffsetsInitializer.of((_, _, _) => throw new IllegalStateException("called again"))
      val added = newTopicOn(1, blue)
      produce(blue, added, 1, Seq("later"))
      s.orders(Entry("blue", blue, topic, added), Entry("green", green, topic))
      s.catchUp(again.startingOptions: _*)
      assert(s.seen.count(_.topic == added) == 1, "what is added later starts at newTopicStartingOffsets")
    }
  }

  test("a batch, and stopping offsets by a function") {
    onBoth(values("v", 10)) { (s, topic) =>
      val two = OffsetsInitializer.of((_, _, partitions) => partitions.map(_ -> 2L).toMap)
      val four = OffsetsInitializer.of((_, _, partitions) => partitions.map(_ -> 4L).toMap)
      val options = two.startingOptions ++ four.endingOptions
      assert(s.batch(options: _*).count() == 8)
      s.catchUp(options: _*)
      from(s, topic)(r => r.offset >= 2 && r.offset < 4)
      // What is durable is not determined again, whatever the function would return now.
      s.catchUp(OffsetsInitializer.of((_, _, _) =>
        throw new IllegalStateException("called again")
      ).endingOptions: _*)
      from(s, topic)(r => r.offset >= 2 && r.offset < 4)
    }
  }

  test("a class by its name, also for one cluster") {
    onBoth(values("v", 10)) { (s, topic) =>
      val name = s"class:${classOf[OffsetsFunctionSuite.Second].getName}"
      s.catchUp("startingOffsets" -> "latest", "cluster.green.startingOffsets" -> name)
      from(s, topic)(r => r.cluster == "green" && r.offset >= 2)
    }
  }

  test("INVALID_OFFSETS: cluster, topic, partition and the message of the function") {
    onBoth(values("v", 10)) { (s, topic) =>
      val failing = OffsetsInitializer.of { (cluster, _, partitions) =>
        if (cluster == "green") throw new IllegalStateException("the table has no row")
        partitions.map(_ -> 0L).toMap
      }
      val missing = OffsetsInitializer.of((_, _, _) => Map(0 -> 1L))
      val cases = Seq(
        failing.startingOptions -> Seq("startingOffsets", "green", topic, "0, 1", "the table has no row"),
        missing.startingOptions -> Seq("startingOffsets", topic, "partition 1"),
        missing.endingOptions -> Seq("endingOffsets", topic, "partition 1")
      )
      for ((options, says) <- cases) {
        val e = refused(s.start(Trigger.AvailableNow(), options: _*))
        assert(condition(e) == "INVALID_OFFSETS" && says.forall(text(e).contains), text(e))
        val ofBatch = refused(s.batch(options: _*).count())
        assert(condition(ofBatch) == "INVALID_OFFSETS", text(ofBatch))
      }
    }
  }

  test("a function may need longer than one attempt, and no longer than the limit of the cluster") {
    onBoth(values("v", 10)) { (s, _) =>
      val never = new java.util.concurrent.CountDownLatch(1)
      val waiting = OffsetsInitializer.of { (_, _, partitions) =>
        never.await()
        partitions.map(_ -> 0L).toMap
      }
      try {
        val e = refused(
          s.start(
            Trigger.AvailableNow(),
            waiting.startingOptions :+ ("clusterRequestTimeoutMs" -> "3000"): _*
          )
        )
        assert(condition(e) == "INVALID_OFFSETS" && text(e).contains("clusterRequestTimeoutMs"), text(e))
      } finally never.countDown()
    }
  }

  test("a function that is not registered in this driver, and an unknown class") {
    onBoth(values("v", 10)) { (s, _) =>
      for (value <- Seq("function:unknown", "class:no.such.Offsets", "class:java.lang.String")) {
        val e = refused(s.frame("startingOffsets" -> value))
        assert(condition(e) == "INVALID_OPTION", text(e))
      }
      val e = refused(
        s.frame("newTopicStartingOffsets" -> s"class:${classOf[OffsetsFunctionSuite.Second].getName}")
      )
      assert(condition(e) == "INVALID_OPTION", text(e))
    }
  }
}

object OffsetsFunctionSuite {

  /** Omits two records of each partition. */
  final class Second extends ((String, String, Seq[Int]) => Map[Int, Long]) {
    override def apply(cluster: String, topic: String, partitions: Seq[Int]): Map[Int, Long] =
      partitions.map(_ -> 2L).toMap
  }
}
