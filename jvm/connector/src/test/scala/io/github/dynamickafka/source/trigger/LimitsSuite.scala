package io.github.dynamickafka.source.trigger

import scala.util.Random

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.testkit.TestAll

/** Limits over all clusters together, on brokers. `maxOffsetsPerTrigger` is in `TriggerSuite`. */
class LimitsSuite extends Queries {

  /** Clusters with these numbers of records in two partitions each. */
  private def withTopic(onBlue: Int, onGreen: Int)(body: (Query, String) => Unit): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, values("b", onBlue))
    produce(green, topic, 2, values("g", onGreen))
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    body(s, topic)
  }

  private def tasks(s: Query, options: (String, String)*): Int = s.batch(options: _*).rdd.getNumPartitions

  test("minPartitions: this number of tasks over all clusters, in batch and streaming, every record once") {
    withTopic(400, 4) { (s, topic) =>
      assert(tasks(s) == 4)
      assert(tasks(s, "minPartitions" -> "3") == 4)
      assert(tasks(s, "minPartitions" -> "9") == 9)
      assert(s.batch("minPartitions" -> "9").count() == 404)
      s.catchUp("minPartitions" -> "9", "maxOffsetsPerTrigger" -> "150")
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("maxRecordsPerPartition: no task has more records") {
    withTopic(100, 7) { (s, topic) =>
      assert(tasks(s, "maxRecordsPerPartition" -> "20") == 3 + 3 + 1 + 1)
      assert(tasks(s, "maxRecordsPerPartition" -> "20", "minPartitions" -> "12") == 12)
      s.catchUp("maxRecordsPerPartition" -> "20")
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("minOffsetsPerTrigger waits for enough records, up to maxTriggerDelay; AvailableNow does not wait") {
    withTopic(1, 1) { (s, topic) =>
      s.catchUp("minOffsetsPerTrigger" -> "100", "maxTriggerDelay" -> "1h")
      assert(s.seen.size == 2)
      val query = s.start("minOffsetsPerTrigger" -> "6", "maxTriggerDelay" -> "1h")
      settle(query)
      produce(blue, topic, 2, values("more", 5))
      settle(query)
      assert(s.seen.size == 2)
      produce(green, topic, 2, values("enough", 1))
      eventually(assert(s.seen.size == 8))
      query.stop()
      produce(blue, topic, 2, values("late", 1))
      val patient = s.start("minOffsetsPerTrigger" -> "100", "maxTriggerDelay" -> "2s")
      eventually(assert(s.seen.size == 9, "the first trigger does not wait"))
      produce(green, topic, 2, values("later", 1))
      eventually(assert(s.seen.size == 10))
      settle(patient)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("a topology change does not wait for records") {
    withTopic(2, 2) { (s, topic) =>
      s.orders(Entry("blue", blue, topic))
      val query = s.start("minOffsetsPerTrigger" -> "100", "maxTriggerDelay" -> "1h")
      eventually(assert(s.seen.size == 2))
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      eventually(assert(s.logged.clusters.contains("green")))
      settle(query)
      assert(s.seen.size == 2)
      query.stop()
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("maxBytesPerTrigger: bytes over all clusters, from the second batch on by the sizes of the records") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      // Records of two clusters whose sizes differ by ten.
      produce(blue, topic, 2, (0 until 600).map(i => f"b$i%099d"))
      produce(green, topic, 2, (0 until 60).map(i => f"g$i%0999d"))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp("maxBytesPerTrigger" -> "8k")
      assertSame(s.seen, storedOnBoth(topic))
      // The key of a record is its value.
      val sizes =
        s.sizes.indices.map(i => s.batch(i.toLong).map(_.value.length.toLong * 2L).sum)
      assert(s.sizes.head == 8, "8 records of 1 KB")
      val (inner, last) = (sizes.drop(1).dropRight(1), sizes.last)
      assert(last <= 8192 && inner.forall(n => n > 4096 && n <= 8192), sizes)
      s.catchUp("maxBytesPerTrigger" -> "1")
      produce(green, topic, 2, Seq("x", "y"))
      val before = s.sizes.size
      s.catchUp("maxBytesPerTrigger" -> "1", "maxOffsetsPerTrigger" -> "100")
      assert(s.sizes.drop(before).filter(_ > 0) == Seq(1, 1), "at least one record in each batch")
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("minOffsetsPerTrigger above maxOffsetsPerTrigger is refused at load") {
    scene { s =>
      val e = refused(s.frame("minOffsetsPerTrigger" -> "10", "maxOffsetsPerTrigger" -> "9"))
      assert(condition(e) == "INVALID_OPTION" && text(e).contains("maxOffsetsPerTrigger"))
    }
  }

  test("a skew of 1:1000 between clusters, random limits: no partition starves, every record once", TestAll) {
    info(s"DYNAMIC_KAFKA_SEED=${TestSeed()}")
    val random = new Random(TestSeed())
    withTopic(4000, 4) { (s, topic) =>
      val budget = 500 + random.nextInt(500)
      s.catchUp(
        "maxOffsetsPerTrigger" -> budget.toString,
        "minPartitions" -> (1 + random.nextInt(12)).toString,
        "maxRecordsPerPartition" -> (50 + random.nextInt(200)).toString
      )
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.sizes.max <= budget)
      assert(s.batch(0).map(r => (r.cluster, r.partition)).distinct.size == 4)
    }
  }

  test("limits and ProcessingTime: no batch exceeds the budget", TestAll) {
    withTopic(30, 10) { (s, topic) =>
      val query =
        s.start(Trigger.ProcessingTime(50L), "maxOffsetsPerTrigger" -> "7", "maxRecordsPerPartition" -> "2")
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.sizes.max == 7)
    }
  }
}
