package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.functions.{col, floor}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, HistoryTest, Logs, Query, Results, Seen, StartOffset}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** `alignment=timestamp` while blue has a history and green has none. The value of a record is the second of its time. */
class AlignedHistorySuite extends EventTimeTest with HistoryTest {

  // A trigger that finds the same as the one before reads nothing.
  override def asksInEachTrigger: Boolean = false

  private val StartMs = 1767225600000L
  private val DriftS = 11
  private val options = aligned(s"${DriftS}s")

  private def produceAt(
      cluster: KafkaCluster,
      topic: String,
      seconds: Iterable[Int],
      partition: Int = 0
  ): Unit = {
    val records = seconds.map(s => Record(partition, None, s.toString, timestamp = Some(StartMs + s * 1000L)))
    val _ = cluster.produce(topic, records.toSeq)
  }

  /** The history of the stream: what blue has in Kafka, in a file for each of these times. */
  private def archive(s: Query, seconds: Int): Unit = {
    val path = s.folder.resolve("archive")
    archived(s).where("cluster = 'blue'")
      .withColumn("file", floor((col("value").cast("string").cast("int") - 1) / seconds))
      .repartition(1).sortWithinPartitions(
        "file",
        "partition",
        "offset"
      ).write.partitionBy("file").parquet(path.toString)
    s.service.histories = history(path)
  }

  private def twoAligned(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(1, blue, green)
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    body(s, topic)
    ()
  }

  /** Thirty records in three files, of which Kafka has the last ten, too, and ten more; forty records of the same times on green. */
  private def alternating(body: (Query, Seq[Seen]) => Any): Unit = twoAligned { (s, topic) =>
    produceAt(blue, topic, 1 to 30)
    archive(s, seconds = 10)
    produceAt(blue, topic, 31 to 40)
    produceAt(green, topic, 1 to 40)
    val all = storedOnBoth(topic)
    expire(blue, topic, 0 -> 20L)
    body(s, all)
  }

  private def isOfFile(r: Seen) = r.cluster == "blue" && r.value.toInt <= 30

  /** Batches are files or Kafka, read only what is older than the bound, and each partition in the order of its offsets. */
  private def assertAligned(s: Query): Unit = {
    assert(s.batches.forall(batch => batch.forall(isOfFile) || !batch.exists(isOfFile)), s.sizes)
    s.batches.zipWithIndex.filter(_._1.nonEmpty).foreach { case (batch, i) =>
      val unread = s.batches.drop(i).flatten.map(_.value.toInt)
      assert(batch.map(_.value.toInt).max < unread.min + DriftS, s"batch $i of ${s.sizes}")
    }
    val offsets = s.batches.flatten.groupMap(r => (r.cluster, r.partition))(_.offset)
    assert(offsets.values.forall(of => of == of.sorted))
    ()
  }

  test(
    "files and Kafka alternate, so that no cluster is read more than the drift ahead of the other one",
    TestAll
  ) {
    alternating { (s, all) =>
      s.catchUp(options: _*)
      assertSame(s.seen, all)
      assertAligned(s)
      val ofFiles = s.batches.map(_.forall(isOfFile))
      assert(ofFiles == Seq(true, false, true, false, true, false, false), s.sizes)
      assert(s.logged.history.isEmpty)
    }
  }

  (0L to 5L).foreach { batch =>
    test(
      s"a query that fails in batch $batch reads the same again, with alignment and then without it",
      TestAll
    ) {
      alternating { (s, all) =>
        s.inBatch = id => if (id == batch) throw new IllegalStateException("as a crash")
        val query = s.start(Trigger.AvailableNow(), options: _*)
        eventually(assert(!query.isActive))
        s.inBatch = _ => ()
        s.service.histories = Map.empty
        s.catchUp((if (batch % 2 == 0) options else Nil): _*)
        assert(s.repeated == Set(batch))
        assertSame(s.seen, all)
        if (batch % 2 == 0) assertAligned(s)
      }
    }
  }

  test("a query that has started without alignment is aligned from a restart on", TestAll) {
    alternating { (s, all) =>
      s.inBatch = id => if (id == 1) throw new IllegalStateException("as a crash")
      val query = s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "1")
      eventually(assert(!query.isActive))
      s.inBatch = _ => ()
      s.catchUp(options: _*)
      assertSame(s.seen, all)
      // The last file waits until green has caught up.
      assert(s.batches.lastIndexWhere(_.exists(isOfFile)) == 4, s.sizes)
    }
  }

  test(
    "a batch that spans files and Kafka, because Spark did not log the batches between, has both",
    TestAll
  ) {
    alternating { (s, all) =>
      s.inBatch = id => if (id == 3) throw new IllegalStateException("as a crash")
      val query = s.start(Trigger.AvailableNow(), options: _*)
      eventually(assert(!query.isActive))
      s.inBatch = _ => ()
      val (first, end) = ((0L to 1L).flatMap(s.batch), s.loggedText)
      s.unlog()
      s.rewriteLogged(_ => end)
      s.uncommit()
      s.forgetRows()
      s.catchUp(options: _*)
      assert(s.batch(2).exists(isOfFile) && !s.batch(2).forall(isOfFile))
      assertSame(first ++ s.seen, all)
    }
  }

  test(
    "AvailableNow reads deferred records of a batch in which their cluster entered, while files are left",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, red)
      produceAt(blue, topic, 1 to 30)
      produceAt(red, topic, 1 to 40)
      s.orders(Entry("blue", blue, topic))
      archive(s, seconds = 10)
      s.inBatch = id => {
        if (id == 0) {
          s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
          s.service.awaitAnswers()
        }
        if (s.batch(id).exists(_.cluster == "red")) throw new IllegalStateException("as a crash")
      }
      val query = s.start(options: _*)
      eventually(assert(!query.isActive))
      val batch = s.batchCount - 1L
      assert(s.logged.entered.contains("red") && s.logged.history.nonEmpty)
      val later = new Results(s.checkpoint)
      val deferring = Seq(
        "unreachableReplayPolicy" -> "defer",
        "clusterFailurePolicy" -> "skip",
        "clusterRequestTimeoutMs" -> "4000"
      )
      // Not by a restart of its broker, after which positions have another leader epoch, so that no offset has the text of another one.
      def redAt(servers: String) = s.orders(Entry("blue", blue, topic), Entry.at("red", servers, topic))
      redAt("127.0.0.1:1")
      later.inBatch = id =>
        if (id == batch) {
          redAt(red.bootstrapServers)
          s.service.awaitAnswers()
        }
      val run = later.start(s.frame(options ++ deferring: _*), Trigger.AvailableNow())
      assert(run.awaitTermination(300000))
      val before = s.seen.filterNot(s.batch(batch).contains)
      assertSame(before ++ later.seen, stored("blue", blue, topic) ++ stored("red", red, topic))
    }
  }

  test("files wait for an idle cluster, at most for the time-out", TestAll) {
    twoAligned { (s, topic) =>
      produceAt(blue, topic, 25 to 30)
      archive(s, seconds = 10)
      produceAt(green, topic, 1 to 2)
      val query = s.start(options :+ ("alignmentIdleTimeout" -> "2s"): _*)
      waitFor("the files")(s.seen.size == 8)
      query.stop()
      assert(s.batch(0).forall(_.cluster == "green"))
    }
  }

  test(
    "Kafka's records of a partition wait for its files, which are read as a whole, also if they are long",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      produceAt(blue, topic, 11 to 12)
      produceAt(blue, topic, 11 to 30, partition = 1)
      archive(s, seconds = 100)
      produceAt(blue, topic, 13 to 15)
      produceAt(green, topic, 1 to 10)
      val lines = Logs.during(classOf[StartOffset]) {
        s.catchUp(options :+ ("maxOffsetsPerTrigger" -> "5"): _*)
      }
      assertSame(s.seen, storedOnBoth(topic))
      // Those of the second batch could have been read with the last ones of green.
      assert(s.sizes == Seq(5, 5, 22, 3))
      assert(lines.exists(line => line.contains("'orders'") && line.contains("19000 ms apart")), lines)
    }
  }

  test("one watermark over clusters of which one has a history of a day drops no row", TestAll) {
    twoAligned { (s, topic) =>
      val (day, later) = ((1 to 1440 by 2).map(_ * 60), (1441 to 1460).map(_ * 60))
      produceAt(blue, topic, day)
      archive(s, seconds = 2 * 3600)
      produceAt(blue, topic, later)
      produceAt(green, topic, day ++ later)
      val all = Seq("blue", "green").map(_ -> (day.size + later.size).toLong).toMap
      def count(more: (String, String)*) = {
        val rows = s.frame(more :+ ("maxOffsetsPerTrigger" -> "120"): _*)
        counted(s, rows.withWatermark("timestamp", "2 hours"))
      }
      val (rows, dropped) = count()
      info(s"without alignment, of $all: $rows, $dropped dropped rows")
      assert(rows("blue") == all("blue") && rows("green") < all("green") / 2 && dropped > 0)
      assert(count(aligned("2h"): _*) == ((all, 0L)))
    }
  }
}
