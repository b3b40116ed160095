package io.github.dynamickafka.source.report

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, floor, window}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.{Entry, HistoryTest, Logs, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** Lag and drift in time while blue has a history and green has none. The value of a record is the second of its time. */
class HistoryTimesSuite extends HistoryTest {

  private val begun = System.currentTimeMillis()
  private val startMs = begun - 3600000L
  private val aligned = Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> "11s")
  private val oneByOne = Seq("historyFilesPerTrigger" -> "1", "maxOffsetsPerTrigger" -> "20")

  private def timeOf(second: Int): Long = startMs + second * 1000L

  private def produceAt(cluster: KafkaCluster, topic: String, seconds: Range): Unit =
    cluster.produce(topic, seconds.map(s => Record(0, None, s.toString, timestamp = Some(timeOf(s)))))

  /** A file for the rows of ten seconds. */
  private def archive(s: Query, rows: DataFrame, cluster: String = null): Unit = {
    val path = s.folder.resolve("archive")
    rows.withColumn("file", floor((col("value").cast("string").cast("int") - 1) / 10))
      .repartition(1).write.partitionBy("file").parquet(path.toString)
    s.service.histories = history(path, cluster = cluster)
  }

  /** Thirty records of blue in three files and no longer in Kafka, ten later ones; forty of the same times on green. */
  private def withHistory(keepCluster: Boolean)(body: Query => Any): Unit = scene { s =>
    val topic = newTopicOn(1, blue, green)
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    produceAt(blue, topic, 1 to 30)
    archive(
      s,
      if (keepCluster) archived(s) else archived(s).drop("cluster"),
      if (keepCluster) null else "blue"
    )
    expire(blue, topic, 0 -> 30L)
    produceAt(blue, topic, 31 to 40)
    produceAt(green, topic, 1 to 40)
    body(s)
    ()
  }

  private type Metrics = Map[String, String]

  /** The metrics after each batch with rows. */
  private def progress(query: StreamingQuery): Seq[Metrics] = {
    assert(query.awaitTermination(300000))
    ofBatches(query)
  }

  private def ofBatches(query: StreamingQuery): Seq[Metrics] =
    query.recentProgress.toSeq.filter(_.numInputRows > 0).map(_.sources.head.metrics.asScala.toMap)

  private def lag(m: Metrics, id: String): Long = m(s"eventTimeLagMs.$id").toLong
  private def drift(m: Metrics, id: String): Long = m(s"eventTimeDriftMs.$id").toLong

  private def isOf(second: Int, lagMs: Long): Boolean =
    lagMs >= begun - timeOf(second) && lagMs <= System.currentTimeMillis() - timeOf(second)

  /** After each batch, lag and drift are those of the records that are in later batches. */
  private def assertTimes(s: Query, all: Seq[Metrics]): Unit = {
    val batches = s.batches.filter(_.nonEmpty)
    assert(batches.size == all.size && batches.flatten.size == 80)
    all.zipWithIndex.foreach { case (m, i) =>
      val clue = s"batch $i of ${s.sizes}: $m"
      val (read, unread) = (batches.take(i + 1).flatten, batches.drop(i + 1).flatten)
      val firsts = unread.groupMapReduce(_.cluster)(_.value.toInt)(math.min)
      // Its cluster is asked while the first batch runs.
      val isKnown = lag(m, "green") >= 0
      assert(isKnown || i == 0, clue)
      Seq("blue", "green").filter(id => id == "blue" || isKnown).foreach { id =>
        assert(firsts.get(id).fold(lag(m, id) == 0L)(isOf(_, lag(m, id))), clue)
        val last = read.filter(_.cluster == id).map(_.value.toInt).maxOption
        val ahead = for (of <- last; first <- firsts.values.minOption) yield 1000L * math.max(0, of - first)
        if (isKnown)
          assert(drift(m, id) == (if (firsts.isEmpty) 0L else ahead.getOrElse(-1L)), s"$id in $clue")
      }
    }
  }

  Seq(true, false).foreach { keepCluster =>
    val which = if (keepCluster) "with a column 'cluster'" else "of one cluster"
    // `TimeLagsOfHistoriesSuite` has both, without brokers.
    val chosen = if (keepCluster) Nil else Seq(TestAll)
    test(s"files $which that are not read count, while the whole history comes first", chosen: _*) {
      withHistory(keepCluster) { s =>
        val all = progress(s.start(Trigger.AvailableNow(), oneByOne: _*))
        assert(all.map(_("pendingHistoryFiles").toInt).take(4) == Seq(2, 1, 0, 0))
        assertTimes(s, all)
        assert(isOf(11, lag(all.head, "blue")) && drift(all(2), "blue") == 29000L, all)
      }
    }

    test(
      s"files $which that are not read count, with alignment: no cluster drifts by more than the limit",
      chosen: _*
    ) {
      withHistory(keepCluster) { s =>
        val all = progress(s.start(Trigger.AvailableNow(), aligned: _*))
        assertTimes(s, all)
        assert(all.size > 4 && all.forall(m => Seq("blue", "green").forall(drift(m, _) < 11000L)), all)
      }
    }
  }

  test(
    "a cluster that does not respond: its files and those of others are read, and their times are known",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      Seq(blue, red).foreach(produceAt(_, topic, 1 to 30))
      archive(s, archived(s))
      s.inBatch = id => if (id == 0) throw new IllegalStateException("as a crash")
      val failed = s.start(Trigger.AvailableNow(), oneByOne: _*)
      eventually(assert(!failed.isActive))
      s.inBatch = _ => ()
      killed(red) {
        val query = s.start(Trigger.AvailableNow(), oneByOne :+ ("clusterRequestTimeoutMs" -> "3000"): _*)
        assert(condition(refused(query)) == "CLUSTER_UNREACHABLE")
        assert(s.seen.size == 60, "the files are read before")
        val all = ofBatches(query)
        for ((m, first) <- all.zip(Seq(11, 21)); id <- Seq("blue", "red"))
          assert(isOf(first, lag(m, id)) && drift(m, id) == 0L, m)
        assert(all.size == 3)
      }
    }
  }

  test(
    "the watermark warning counts files: those of a cluster that has not been read while another one has",
    TestAll
  ) {
    withHistory(keepCluster = true) { s =>
      val lines = Logs.during(classOf[LateClusters]) {
        val windows = s.frame(oneByOne: _*).withWatermark("timestamp", "2 seconds")
          .groupBy(window(col("timestamp"), "10 seconds")).count()
        val query = windows.writeStream.outputMode("update").format("noop")
          .option("checkpointLocation", s.folder.resolve("windows").toString)
          .trigger(Trigger.AvailableNow()).start()
        try assert(query.awaitTermination(300000))
        finally query.stop()
      }
      assert(lines.size == 1 && lines.head.contains("'green' lags behind the watermark"), lines)
    }
  }
}
