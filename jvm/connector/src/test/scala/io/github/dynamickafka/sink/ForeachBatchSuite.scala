package io.github.dynamickafka.sink

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.sink.commit.CommitProbe
import io.github.dynamickafka.source.report.SparkUi
import io.github.dynamickafka.source.{Entry, Logs}

/** Jobs in `foreachBatch`, which Spark runs again after a failure. */
class ForeachBatchSuite extends SinkTest {
  private val ExactlyOnce = "deliveryGuarantee" -> "exactly-once"

  /** The gauges of queries that write, at the steps of a commit. */
  private def gaugesDuring(save: => Unit): Set[String] = {
    val ui = new SparkUi(spark)
    var found = Set.empty[String]
    CommitProbe.current = new CommitProbe {
      override def oneByOne: Boolean = false
      override def reached(step: String, batch: Long): Unit =
        found ++= ui.exported().keySet.filter(_.contains("_sink_"))
    }
    try save
    finally CommitProbe.current = CommitProbe.Untold
    found
  }

  test(
    "with the number of the batch in 'jobId' a batch that is repeated is written once; without an id, a warning says so"
  ) {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(2, blue), newTopicOn(2, blue, green))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        def run(save: (DataFrame, Long) => Unit): StreamingQuery = {
          val query = s.frame().select("key", "value").writeStream.foreachBatch(save)
            .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
          waitFor("the end of the query")(!query.isActive)
          query
        }
        def once(batch: DataFrame, number: Long): Unit =
          t.save(batch, ExactlyOnce, "jobId" -> s"shipments-$number")
        def all = (values(blue, topic) ++ values(green, topic)).map(_.toInt).sorted
        produce(blue, from, 2, (0 until 20).map(_.toString))
        val failed = run { (batch, number) =>
          assert(gaugesDuring(once(batch, number)).isEmpty)
          throw new IllegalStateException("after the write")
        }
        assert(failed.exception.exists(_.getMessage.contains("after the write")) && all == (0 until 20))
        assert(run(once).exception.isEmpty && all == (0 until 20))

        produce(blue, from, 2, (20 until 30).map(_.toString))
        val logged = Logs.during(classOf[QuerySink]) {
          assert(run((batch, _) => t.save(batch, ExactlyOnce)).exception.isEmpty)
        }
        assert(all == (0 until 30))
        assert(
          logged.exists(line => line.contains("'foreachBatch'") && line.contains(s"'${failed.id}-1'")),
          logged
        )
      }
    }
  }
}
