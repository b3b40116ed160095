package io.github.dynamickafka.source.realtime

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable

import io.github.dynamickafka.source.{Entry, Seen}
import io.github.dynamickafka.testkit.TestAll

/** Several sources in one query, and what a source reports. Spark's KafkaRealTimeModeSuite has tests of the same for its own source. */
class RealTimeSourcesSuite extends RealTimeTest {

  test(
    "a frame is not united with itself: Spark refuses it by name; two frames of one stream are read twice"
  ) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, values("b", 0, 2))
      val frame = s.frame("realTimeTasks" -> "1")
      val refused = rows.start(frame.union(frame))
      waitFor("the end of the query")(!refused.isActive)
      val conditions = Iterator.iterate[Throwable](refused.exception.get)(_.getCause).takeWhile(_ != null)
        .collect { case e: SparkThrowable => e.getCondition }.toSeq
      assert(conditions.contains("STREAMING_REAL_TIME_MODE.IDENTICAL_SOURCES_IN_UNION_NOT_SUPPORTED"))
      assert(rows.seen.isEmpty)
    }
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, values("b", 0, 2))
      rows.start(s.frame("realTimeTasks" -> "1").union(s.frame("realTimeTasks" -> "1")))
      waitFor("rows of both")(rows.seen.size == 4)
      val once = stored("blue", blue, topic)
      assertSame(rows.seen, once ++ once)
    }
  }

  test("beside a source of another format, whose batch it keeps: a change is used when that batch ends") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      val other = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, values("b", 0, 2))
      produce(blue, other, 1, values("o", 0, 3))
      val kafka = spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", blue.bootstrapServers)
        .option("subscribe", other).option("startingOffsets", "earliest").load()
      val columns = Seq("topic", "partition", "offset", "value")
      val both = s.frame("realTimeTasks" -> "1").selectExpr(Seq("cluster", "stream") ++ columns: _*)
        .union(kafka.selectExpr(Seq("'spark' as cluster", "'' as stream") ++ columns: _*))
      rows.start(both, duration = "10 seconds")
      def ofSpark: Seq[Seen] = rows.seen.filter(_.cluster == "spark")
      waitFor("rows of both")(rows.seen.size == 5)
      assert(ofSpark.size == 3)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      produce(green, topic, 1, values("g", 0, 2))
      produce(blue, other, 1, values("o", 3, 4))
      waitFor("rows of the new cluster")(rows.seen.size == 8)
      assert(ofSpark.size == 4)
      assertSame(
        rows.seen.filterNot(_.cluster == "spark"),
        storedOnBoth(topic)
      )
    }
  }

  test("the progress says how far the query is behind when a batch ends, not when it began", TestAll) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      // A broker does not respond within a batch, so that no record is read.
      val late = Seq("kafka.fetch.min.bytes" -> "20000000", "kafka.fetch.max.wait.ms" -> "20000")
      val query = rows.start(s.frame(late: _*), duration = "5 seconds")
      waitFor("a batch without records")(query.recentProgress.nonEmpty)
      produce(blue, topic, 1, values("b", 0, 3))
      waitFor("a batch that is behind") {
        query.recentProgress.map(_.sources.head.metrics.asScala).exists(m =>
          m("maxOffsetsBehindLatest") == "3" && m("pendingRecords.blue") == "3"
        )
      }
      assert(rows.seen.size <= 3)
      assert(query.isActive)
    }
  }
}
