package io.github.dynamickafka.sink

import java.util.concurrent.CountDownLatch
import java.{util => ju}

import scala.concurrent.duration._

import org.apache.kafka.common.metrics.{KafkaMetric, MetricsReporter}
import org.apache.spark.scheduler.{SparkListener, SparkListenerJobEnd}

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.TestAll

/** A client of one cluster that hangs while it is made, as one does whose log-in does not answer. */
class HangingClientSuite extends Queries {

  test("what does not use the cluster continues, the query stops, and the listeners of Spark are not held") {
    val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, blue))
    scene { s =>
      target { t =>
        s.orders(Entry("blue", blue, from))
        t.out(
          Entry("blue", blue, topic),
          Entry("green", green, topic).and("metric.reporters", classOf[HangingReporter].getName)
        )
        HangingReporter.hanging {
          for (guarantee <- Seq("at-least-once", "exactly-once")) {
            val before = blue.dump(topic, committedOnly = true).size
            produce(blue, from, 1, (0 until 40).map(i => s"$guarantee$i"))
            val query = t.start(
              s.frame().select("key", "value"),
              "clusterRouting" -> "first",
              "deliveryGuarantee" -> guarantee,
              "clusterRequestTimeoutMs" -> "2000",
              "checkpointLocation" -> t.checkpoint.resolve(guarantee).toString
            )
            waitFor(guarantee)(blue.dump(topic, committedOnly = true).size >= before + 40)
            stopWithin(20.seconds)(query)
            assert(query.exception.isEmpty)
          }
          val ended = new CountDownLatch(1)
          val listener = new SparkListener {
            override def onJobEnd(end: SparkListenerJobEnd): Unit = ended.countDown()
          }
          spark.sparkContext.addSparkListener(listener)
          try {
            assert(spark.range(3).count() == 3)
            waitFor("an event")(ended.getCount == 0)
          } finally spark.sparkContext.removeSparkListener(listener)
        }
      }
    }
  }

  test("a write to the cluster is an error in time that names it, and not a task without end", TestAll) {
    val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, green))
    scene { s =>
      target { t =>
        s.orders(Entry("blue", blue, from))
        t.out(Entry("green", green, topic).and("metric.reporters", classOf[HangingReporter].getName))
        produce(blue, from, 1, Seq("a"))
        HangingReporter.hanging {
          for (guarantee <- Seq("at-least-once", "exactly-once")) {
            val e = refused(t.start(
              s.frame().select("key", "value"),
              "deliveryGuarantee" -> guarantee,
              "clusterRequestTimeoutMs" -> "2000",
              "kafka.max.block.ms" -> "2000",
              "checkpointLocation" -> t.checkpoint.resolve(guarantee).toString
            ))
            assert(text(e).contains("'green'") && text(e).contains("not open within 2000 ms"), text(e))
          }
        }
      }
    }
  }
}

final class HangingReporter extends MetricsReporter {
  override def configure(configs: ju.Map[String, _]): Unit = HangingReporter.released.await()
  override def init(metrics: ju.List[KafkaMetric]): Unit = ()
  override def metricChange(metric: KafkaMetric): Unit = ()
  override def metricRemoval(metric: KafkaMetric): Unit = ()
  override def close(): Unit = ()
}

object HangingReporter {
  @volatile private var released = new CountDownLatch(1)

  def hanging(body: => Any): Unit = {
    released = new CountDownLatch(1)
    try { val _ = body }
    finally released.countDown()
  }
}
