package io.github.dynamickafka.source.realtime

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{DataStreamWriter, Trigger}
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.page.GaugeSet
import io.github.dynamickafka.source.{Entry, Query, Target}

/** The sink that writes in real-time mode. */
class RealTimeWriteSuite extends RealTimeTest {

  /** A stream `out` to write to, and one to read from. */
  private def written(body: (Query, Target, String, DataFrame => DataStreamWriter[Row]) => Any): Unit =
    realTime { (s, _) =>
      target { t =>
        val topic = newTopicOn(2, blue, green)
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        def writer(frame: DataFrame) = DynamicKafka.writer(frame).setOptions(t.options())
          .writeStream()
          .outputMode("update")
          .option("checkpointLocation", s.checkpoint.toString)
          .trigger(Trigger.RealTime("5 minutes"))
        try {
          body(s, t, topic, writer(_))
          ()
        } finally spark.streams.active.foreach(_.stop())
      }
    }

  private def rows(s: Query) = s.frame().selectExpr("key", "concat(value, '-copy') as value", "cluster")

  test(
    "rows are on their clusters before the batch ends, without a setting of Spark, and a batch is reported when it is flushed"
  ) {
    written { (s, _, topic, writer) =>
      val source = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, source), Entry("green", green, source))
      val query = writer(rows(s)).start()
      produce(blue, source, 2, values("b", 0, 20))
      produce(green, source, 2, values("g", 0, 20))
      def copies(prefix: String) = values(prefix, 0, 20).map(v => s"$v-copy").sorted
      waitFor("blue")(blue.dump(topic).map(_.value).sorted == copies("b"))
      waitFor("green")(green.dump(topic).map(_.value).sorted == copies("g"))
      DynamicKafka.stop(query)
      assert(query.exception.isEmpty)
      assert(blue.dump(topic).size + green.dump(topic).size == 40)
    }
  }

  test("the gauges have what finished batches have written, and add up over batches") {
    written { (s, _, topic, writer) =>
      val source = newTopicOn(2, blue, green)
      val (a, b) = (Entry("blue", blue, source), Entry("green", green, source))
      s.orders(a)
      val _ = writer(rows(s)).start()
      def gauges(name: String) = GaugeSet.registry().toSeq.flatMap(_.getGauges.asScala).collect {
        case (full, gauge) if full.endsWith(name) => gauge.getValue.toString.toLong
      }
      produce(blue, source, 2, values("b", 0, 20))
      waitFor("blue")(blue.dump(topic).size == 20)
      s.change(a, b)
      eventually(assert(gauges("total.recordsWritten") == Seq(20L)))
      produce(green, source, 2, values("g", 0, 10))
      waitFor("green")(green.dump(topic).size == 10)
      s.change(a)
      eventually(assert(gauges("total.recordsWritten") == Seq(30L)))
      assert(gauges("cluster.blue.recordsWritten") == Seq(20L))
      assert(gauges("cluster.green.recordsWritten") == Seq(10L))
      assert(gauges("total.bytesWritten").forall(_ > 30L))
    }
  }

  test("exactly-once is refused by name when the query starts") {
    written { (s, _, _, writer) =>
      val source = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, source))
      val e = refused(writer(rows(s)).option("deliveryGuarantee", "exactly-once").start())
      assert(condition(e) == "EXACTLY_ONCE_REFUSED" && text(e).contains("real-time mode"), text(e))
    }
  }

  test("... also by format, without Spark's list of sinks, before a row is written") {
    written { (s, t, topic, _) =>
      val source = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, source))
      produce(blue, source, 1, values("b", 0, 5))
      val allowlist = "spark.sql.streaming.realTimeMode.allowlistCheck"
      spark.conf.set(allowlist, "false")
      try {
        val e = refused {
          rows(s).writeStream.format("dynamic-kafka").options(t.options()).outputMode("update")
            .option("deliveryGuarantee", "exactly-once")
            .option("checkpointLocation", s.checkpoint.toString)
            .trigger(Trigger.RealTime("5 minutes")).start()
        }
        assert(condition(e) == "EXACTLY_ONCE_REFUSED" && text(e).contains("real-time mode"), text(e))
        assert(blue.dump(topic).isEmpty)
      } finally spark.conf.unset(allowlist)
    }
  }

  test("with another trigger, the same writer is the sink of micro-batches") {
    written { (s, _, topic, writer) =>
      val source = newTopicOn(1, blue)
      produce(blue, source, 1, values("b", 0, 5))
      s.orders(Entry("blue", blue, source))
      val query =
        writer(rows(s)).trigger(Trigger.AvailableNow()).option("deliveryGuarantee", "exactly-once").start()
      assert(query.awaitTermination(300000))
      assert(blue.dump(topic, committedOnly = true).size == 5)
      assert(query.lastProgress.sink.description == "dynamic-kafka")
    }
  }

  test("exactly-once as a default of the session is refused") {
    written { (s, _, _, writer) =>
      s.orders(Entry("blue", blue, newTopicOn(1, blue)))
      val default = "spark.datasource.dynamic-kafka.deliveryGuarantee"
      spark.conf.set(default, "exactly-once")
      try assert(condition(refused(writer(rows(s)).start())) == "EXACTLY_ONCE_REFUSED")
      finally spark.conf.unset(default)
    }
  }

  test("a cluster that takes no writes any more gets none within a second, although the batch is not over") {
    written { (s, t, topic, writer) =>
      val source = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, source))
      val query = writer(rows(s).drop("cluster")).start()
      produce(blue, source, 1, values("b", 0, 40))
      waitFor("both clusters")(
        blue.dump(topic).size + green.dump(topic).size == 40 && green.dump(topic).nonEmpty
      )
      val before = green.dump(topic).size
      t.change(Entry("blue", blue, topic), Entry("green", green, topic).draining)
      // The promise is a second after the answer, and the query does not show when it has applied it.
      Thread.sleep(3000)
      produce(blue, source, 1, values("c", 0, 40))
      waitFor("the cluster that is left")(blue.dump(topic).size + before == 80)
      assert(green.dump(topic).size == before && query.exception.isEmpty)
    }
  }
}
