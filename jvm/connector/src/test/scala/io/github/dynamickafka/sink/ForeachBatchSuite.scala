package io.github.dynamickafka.sink

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, udf}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.report.SparkUi
import io.github.dynamickafka.source.{Entry, Queries, Target}

/** Jobs in `foreachBatch`, which Spark runs again after a failure, and what to use in their place. */
class ForeachBatchSuite extends Queries {
  import ForeachBatchSuite._

  /** A query that writes batches by jobs, with its records. */
  private def saving(t: Target)(save: DataFrame => Unit): StreamingQuery = {
    var query: Option[StreamingQuery] = None
    scene { s =>
      val from = newTopicOn(2, blue)
      s.orders(Entry("blue", blue, from))
      produce(blue, from, 2, (0 until 20).map(_.toString))
      val started = s.frame().select("key", "value").writeStream
        .queryName("saving")
        .foreachBatch((batch: DataFrame, _: Long) => save(batch))
        .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      waitFor("the end of the query")(!started.isActive)
      query = Some(started)
    }
    query.get
  }

  test("a job with exactly-once is refused, also on a thread of its own, and the error says what to use") {
    target { t =>
      val topic = newTopicOn(2, blue)
      t.out(Entry("blue", blue, topic))
      Seq[(=> Unit) => Unit](body => body, onThread(_)).foreach { run =>
        val query = saving(t)(batch => run(t.save(batch, ExactlyOnce)))
        val e = failure(query)
        assert(condition(e) == "EXACTLY_ONCE_REFUSED", e)
        assert(
          text(e).contains(s"'foreachBatch' of query '${query.id}'") && text(e).contains("column 'stream'")
        )
      }
      assert(values(blue, topic).isEmpty)
    }
  }

  private def onThread(body: => Unit): Unit = {
    var thrown: Option[Throwable] = None
    val thread = new Thread(() =>
      try body
      catch { case e: Throwable => thrown = Some(e) }
    )
    thread.start()
    thread.join()
    thrown.foreach(throw _)
  }

  test("a job with at-least-once is written, and has no gauges") {
    target { t =>
      val topic = newTopicOn(2, blue)
      t.out(Entry("blue", blue, topic))
      val ui = new SparkUi(spark)
      @volatile var seen = Set.empty[String]
      inTask = () => seen = ui.exported().keySet.filter(_.contains("dynamicKafka_saving_"))
      val query = saving(t)(batch => t.save(batch.withColumn("value", calling(col("value")))))
      assert(query.exception.isEmpty, query.exception)
      assert(values(blue, topic).map(_.toInt).sorted == (0 until 20))
      assert(seen.nonEmpty && !seen.exists(_.contains("_sink_")))
    }
  }
}

object ForeachBatchSuite {

  /** Called in the tasks of jobs, for each record. */
  @volatile private var inTask: () => Unit = () => ()

  private val calling = udf { (value: Array[Byte]) =>
    inTask()
    value
  }
}
