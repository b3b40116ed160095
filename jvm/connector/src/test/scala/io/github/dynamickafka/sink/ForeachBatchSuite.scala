package io.github.dynamickafka.sink

import java.nio.file.{Files, Path}

import scala.annotation.unused
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.report.SparkUi
import io.github.dynamickafka.source.{Entry, Logs}

/** Jobs in `foreachBatch`, which Spark runs again after a failure. */
class ForeachBatchSuite extends SinkTest {
  private val ExactlyOnce = "deliveryGuarantee" -> "exactly-once"

  /** The gauges of queries that write, at the steps of a commit. */
  private def gaugesDuring(save: => Unit): Set[String] = {
    val ui = new SparkUi(spark)
    var found = Set.empty[String]
    probed((_, _) => found ++= ui.exported().keySet.filter(_.contains("_sink_")))(save)
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

  /** A query that saves each batch as a job of a name; the source's and the target's topic. */
  private def saving(body: (SavedQuery, String, () => Seq[Int]) => Unit): Unit = target { t =>
    scene { s =>
      val (from, topic) = (newTopicOn(2, blue), newTopicOn(2, blue, green))
      s.orders(Entry("blue", blue, from))
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      def all() = (values(blue, topic) ++ values(green, topic)).map(_.toInt).sorted
      body(new SavedQuery(t, () => s.frame().select("key", "value")), from, () => all())
    }
  }

  private final class SavedQuery(t: Target, frame: () => DataFrame) {
    def checkpoint: Path = t.checkpoint

    def run(job: (DataFrame, Long) => String): Option[String] = {
      val query = frame().writeStream.foreachBatch { (batch: DataFrame, number: Long) =>
        t.save(batch, ExactlyOnce, "jobId" -> job(batch, number))
      }.option("checkpointLocation", checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      waitFor("the end of the query")(!query.isActive)
      query.exception.map(_ => condition(failure(query)) + ": " + text(failure(query)))
    }

    /** Deletes the last batch from Spark's part of the checkpoint. */
    def loseOffsets(): Unit = Seq("offsets", "commits").foreach { folder =>
      val files = Files.list(checkpoint.resolve(folder)).iterator.asScala.toSeq
      val last = files.map(_.getFileName.toString).flatMap(_.toLongOption).max
      Seq(last.toString, s".$last.crc").foreach(name =>
        Files.deleteIfExists(checkpoint.resolve(folder).resolve(name))
      )
    }

    def deleteCheckpoint(): Unit =
      Files.walk(checkpoint).iterator.asScala.toSeq.reverse.foreach(Files.delete)
  }

  private def byNumber(@unused batch: DataFrame, number: Long) = s"shipments-$number"

  private def byQuery(batch: DataFrame, number: Long) =
    s"${batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")}-$number"

  test("a batch that is planned again with as many other records is a conflict, and nothing is discarded") {
    saving { (query, from, all) =>
      produce(blue, from, 2, (0 until 20).map(_.toString))
      assert(query.run(byNumber).isEmpty && all() == (0 until 20))
      produce(blue, from, 2, (20 until 40).map(_.toString))
      assert(query.run(byNumber).isEmpty && all() == (0 until 40))
      query.loseOffsets()
      produce(blue, from, 2, (40 until 60).map(_.toString))
      val why = query.run(byNumber)
      assert(why.exists(w => w.startsWith("JOURNAL_CONFLICT") && w.contains("'offsets/1' had SHA-256")), why)
      assert(all() == (0 until 40))
    }
  }

  test(
    "after the checkpoint is deleted: a conflict by the number of the batch alone, another job by the query"
  ) {
    saving { (query, from, all) =>
      produce(blue, from, 2, (0 until 20).map(_.toString))
      assert(query.run(byNumber).isEmpty && query.run(byNumber).isEmpty && all() == (0 until 20))
      query.deleteCheckpoint()
      val why = query.run(byNumber)
      assert(why.exists(w => w.startsWith("JOURNAL_CONFLICT") && w.contains("another streaming query")), why)
      query.deleteCheckpoint()
      assert(query.run(byQuery).isEmpty && all() == (0 until 20).flatMap(n => Seq(n, n)))
    }
  }

  test("a job with as many rows as before is discarded, and one with another number of rows is a conflict") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      t.save(rows(0, 20), ExactlyOnce, "jobId" -> "nightly")
      t.save(rows(0, 20), ExactlyOnce, "jobId" -> "nightly")
      val e = refused(t.save(rows(20, 30), ExactlyOnce, "jobId" -> "nightly"))
      assert(condition(e) == "JOURNAL_CONFLICT" && text(e).contains("20 rows") && text(e).contains("10 rows"))
      assert(values(blue, topic).size == 20)
    }
  }

  test("'jobId' as a default of the session is refused, because all jobs would have it") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      val name = "spark.datasource.dynamic-kafka.jobId"
      spark.conf.set(name, "nightly")
      try {
        val e = refused(t.save(rows(0, 20), ExactlyOnce))
        assert(condition(e) == "INVALID_OPTION" && text(e).contains(name), e)
      } finally spark.conf.unset(name)
      assert(values(blue, topic).isEmpty)
    }
  }
}
