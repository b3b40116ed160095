package io.github.dynamickafka.source

import java.nio.file.Files

import org.apache.spark.sql.functions.lit
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.testkit.{Record, TestAll}

/** A new query reads the files of a history, and then Kafka from the record that follows. */
class HistorySuite extends HistoryTest {

  Seq("parquet", "avro", "json", "orc").foreach { format =>
    // The others differ in Spark's readers only.
    val chosen = if (format == "parquet") Nil else Seq(TestAll)
    test(s"the records of the history, and then those of Kafka, exactly once: $format", chosen: _*) {
      twoClusters(format) { (s, _, all, path) =>
        s.service.histories = history(path, format)
        s.catchUp("historyFilesPerTrigger" -> "2", "includeHeaders" -> "true")
        assertSame(s.seen, all)
        assert(s.logged.history.isEmpty)
        // Two batches of files, one of Kafka.
        assert(s.batchCount == 3 && s.batch(2).forall(_.value.startsWith("new")))
        assert((0L to 1L).flatMap(s.batch).forall(_.value.startsWith("old")))
      }
    }
  }

  /** With the plans and projections that Spark compiles, unlike the other tests. */
  private def asUsersHaveIt(body: => Unit): Unit = {
    val own =
      Seq("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode").map(k => k -> spark.conf.get(k))
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    try body
    finally own.foreach { case (key, value) => spark.conf.set(key, value) }
  }

  Seq("parquet", "orc").foreach { format =>
    test(s"files that are read by columns: $format", TestAll) {
      twoClusters(format) { (s, _, all, path) =>
        s.service.histories = history(path, format)
        asUsersHaveIt(s.catchUp())
        assertSame(s.seen, all)
      }
    }
  }

  test("a batch that spans files and Kafka, because Spark did not log the batches between, has both") {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.catchUp("historyFilesPerTrigger" -> "2")
      val (first, end) = (s.batch(0), s.loggedText)
      s.unlog()
      s.rewriteLogged(_ => end)
      s.uncommit()
      s.forgetRows()
      s.catchUp()
      assert(Seq("old", "new").forall(p => s.batch(1).exists(_.value.startsWith(p))))
      assertSame(first ++ s.seen, all)
    }
  }

  test("the histories of two streams follow each other, within one limit", TestAll) {
    scene { s =>
      val topics = Seq("orders", "payments").map(_ -> newTopicOn(1, blue)).toMap
      s.service.streams = topics.map { case (stream, topic) => stream -> Seq(Entry("blue", blue, topic)) }
      val ids = "streamIds" -> "orders;payments"
      topics.values.foreach(produce(blue, _, 1, values("old", 3)))
      topics.keys.foreach { stream =>
        write(s.batch("streamIds" -> stream), s.folder.resolve(stream), files = 2)
      }
      val all = topics.toSeq.flatMap { case (stream, topic) => stored("blue", blue, topic, stream) }
      topics.values.foreach(expire(blue, _, 0 -> 3L))
      topics.values.foreach(produce(blue, _, 1, values("new", 2)))
      s.service.histories = topics.keys.flatMap(stream =>
        history(s.folder.resolve(stream)).map { case (_, of) => stream -> of }
      ).toMap
      s.catchUp(ids, "historyFilesPerTrigger" -> "3")
      assertSame(
        s.seen,
        all ++ topics.toSeq.flatMap { case (stream, topic) => stored("blue", blue, topic, stream) }
      )
      assert(s.batchCount == 3 && s.batch(0).map(_.stream).toSet == topics.keySet)
    }
  }

  test("a cluster that is unreachable at the first start follows on its history", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      Seq(blue, red).foreach(produce(_, topic, 1, values("old", 3)))
      write(archived(s), s.folder.resolve("archive"))
      Seq(blue, red).foreach(produce(_, topic, 1, values("new", 2)))
      val all = stored("blue", blue, topic) ++ stored("red", red, topic)
      s.service.histories = history(s.folder.resolve("archive"))
      red.kill()
      val skip = Seq("clusterFailurePolicy" -> "skip", "clusterRequestTimeoutMs" -> "3000")
      try {
        s.catchUp(skip: _*)
        assertSame(s.seen, all.filterNot(r => r.cluster == "red" && r.value.startsWith("new")))
      } finally red.restart()
      s.catchUp(skip: _*)
      assertSame(s.seen, all)
    }
  }

  test("files that are added after the first start are not read, also after a restart", TestAll) {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.inBatch = id => if (id == 0) write(spark.read.parquet(path.toString), path)
      s.catchUp("historyFilesPerTrigger" -> "1")
      s.catchUp("historyFilesPerTrigger" -> "1")
      assertSame(s.seen, all)
    }
  }

  test("files are not needed any more when Kafka has begun", TestAll) {
    twoClusters() { (s, topic, all, path) =>
      s.service.histories = history(path)
      s.catchUp()
      Files.move(path, path.resolveSibling("moved"))
      produce(blue, topic, 2, values("more", 2))
      s.catchUp()
      assertSame(s.seen, all ++ stored("blue", blue, topic).filter(_.value.startsWith("more")))
    }
  }

  test("files that a sink of Spark has not committed are not read", TestAll) {
    twoClusters() { (s, _, all, path) =>
      val sunk = s.folder.resolve("sunk")
      val query = spark.readStream.schema(spark.read.parquet(path.toString).schema).parquet(path.toString)
        .writeStream.format("parquet").option("path", sunk.toString)
        .option(
          "checkpointLocation",
          s.folder.resolve("sinking").toString
        ).trigger(Trigger.AvailableNow()).start()
      query.awaitTermination()
      write(spark.read.parquet(path.toString), sunk)
      s.service.histories = history(sunk)
      s.catchUp()
      assertSame(s.seen, all)
    }
  }

  test("columns in the names of folders, and names with special characters", TestAll) {
    twoClusters() { (s, _, all, path) =>
      val moved = s.folder.resolve("a b%20{c}")
      spark.read.parquet(path.toString).withColumn("day", lit("2026-11-24 00:00"))
        .write.partitionBy("cluster", "day", "topic").parquet(moved.toString)
      s.service.histories = history(moved)
      s.catchUp("historyFilesPerTrigger" -> "1")
      assertSame(s.seen, all)
    }
  }

  test("an overlap with Kafka is not read twice, and partitions without history start as usual") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      Seq(blue, green).foreach(produce(_, topic, 2, values("a", 6)))
      val path = s.folder.resolve("archive")
      write(archived(s).where("cluster = 'blue' and partition = 0"), path)
      Seq(blue, green).foreach(produce(_, topic, 2, values("b", 4)))
      s.service.histories = history(path)
      s.catchUp("cluster.green.startingOffsets" -> "latest")
      val expected = stored("blue", blue, topic)
      assertSame(s.seen, expected)
      Seq(blue, green).foreach(produce(_, topic, 2, values("c", 2)))
      s.catchUp()
      assertSame(
        s.seen,
        stored("blue", blue, topic) ++ stored("green", green, topic).filter(_.value.startsWith("c"))
      )
    }
  }

  private def positionless(all: Seq[Seen], partitions: Boolean) = all.map { r =>
    if (r.value.startsWith("new")) r
    else r.copy(offset = -1L, partition = if (partitions) r.partition else -1)
  }

  test(
    "without offsets, Kafka follows with the first record that is later than those of the history",
    TestAll
  ) {
    twoClusters(change = _.drop("offset")) { (s, _, all, path) =>
      s.service.histories = history(path)
      s.catchUp()
      assertSame(s.seen, positionless(all, partitions = true))
    }
    twoClusters(change = _.drop("offset", "partition", "topic")) { (s, topic, all, path) =>
      s.service.histories = history(path)
      s.catchUp()
      assertSame(s.seen, positionless(all, partitions = false))
      Seq(blue, green).foreach(produce(_, topic, 2, values("later", 2)))
      s.catchUp()
      assert(s.seen.count(_.value.startsWith("later")) == 4)
    }
  }

  test("rows without a column 'cluster' are of the cluster of the history, which has to be known", TestAll) {
    twoClusters(change = _.where("cluster = 'blue'").drop("cluster", "stream")) { (s, _, all, path) =>
      s.service.histories = history(path)
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "METADATA_INVALID" && text(e).contains("set 'cluster' of the history"), text(e))
      s.service.histories = history(path, cluster = "blue")
      s.catchUp()
      // The records of green that are in no history have expired.
      assertSame(s.seen, all.filterNot(r => r.cluster == "green" && r.value.startsWith("old")))
    }
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, values("a", 3))
      val path = s.folder.resolve("archive")
      write(archived(s).drop("cluster", "stream"), path)
      produce(blue, topic, 1, values("b", 3))
      s.service.histories = history(path)
      s.catchUp()
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  test(
    "records of a cluster that has left the stream are read, and the cluster follows on them if it returns",
    TestAll
  ) {
    twoClusters() { (s, topic, all, path) =>
      s.orders(Entry("blue", blue, topic))
      s.service.histories = history(path)
      s.catchUp()
      assertSame(s.seen, all.filterNot(r => r.cluster == "green" && r.value.startsWith("new")))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      assertSame(s.seen, all)
    }
  }

  // Batch 4 is the first one of Kafka.
  (0L to 4L).foreach { batch =>
    val chosen = if (batch == 4L) Nil else Seq(TestAll)
    test(s"a query that fails in batch $batch reads the same again", chosen: _*) {
      twoClusters() { (s, _, all, path) =>
        s.service.histories = history(path)
        s.inBatch = id => if (id == batch) throw new IllegalStateException("fails")
        val options = Seq("historyFilesPerTrigger" -> "1", "maxOffsetsPerTrigger" -> "4")
        val query = s.start(Trigger.AvailableNow(), options: _*)
        eventually(assert(!query.isActive))
        s.inBatch = _ => ()
        s.service.histories = Map.empty
        s.catchUp(options: _*)
        assert(s.repeated == Set(batch))
        assertSame(s.seen, all)
      }
    }
  }

  test("a query that ends before batch 0 is logged starts at the same files", TestAll) {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.inBatch = _ => throw new IllegalStateException("fails")
      val query = s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "2")
      eventually(assert(!query.isActive))
      s.unlog()
      s.forgetRows()
      s.inBatch = _ => ()
      write(spark.read.parquet(path.toString), path)
      s.catchUp("historyFilesPerTrigger" -> "1")
      assertSame(s.seen, all)
    }
  }

  test("files that are not read are a metric; batch reads read Kafka only", TestAll) {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      assert(s.batch().count() == 8)
      val query = s.start("historyFilesPerTrigger" -> "2")
      settle(query)
      val pending = query.recentProgress.toSeq.map(_.sources.head.metrics.get("pendingHistoryFiles"))
      assert(pending.head == "1" && pending.last == "0", pending)
      assert(query.recentProgress.head.numInputRows > 0)
      assertSame(s.seen, all)
    }
  }

  test("keys of a history are decoded like those of records", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      def records(from: Int) = (from until from + 3).map(i => Record(0, Some(s"k$i"), s"v$i"))
      blue.produce(topic, records(0))
      write(archived(s), s.folder.resolve("archive"))
      blue.produce(topic, records(3))
      s.service.histories = history(s.folder.resolve("archive"))
      val rows = s.frame("format" -> "string", "keyFormat" -> "string")
        .selectExpr("cluster", "topic", "partition", "offset", "concat(key, value) as value", "stream")
      s.start(rows, Trigger.AvailableNow()).awaitTermination()
      assertSame(s.seen, (0 until 6).map(i => Seen("blue", topic, 0, i.toLong, s"k${i}v$i", "orders")))
    }
  }

  test(
    "a history with values is decoded like records, one with decoded columns is taken with casts",
    TestAll
  ) {
    Seq(true, false).foreach { decoded =>
      scene { s =>
        val topic = newTopicOn(1, blue)
        s.orders(Entry("blue", blue, topic))
        def json(from: Int) = (from until from + 3).map(i => Record(0, None, s"""{"id": $i, "name": "n"}"""))
        blue.produce(topic, json(0))
        val path = s.folder.resolve("archive")
        val frame = if (decoded) archived(s).selectExpr(
          "cast(get_json_object(cast(value as string), '$.id') as int) as ID",
          "get_json_object(cast(value as string), '$.name') as name",
          "partition",
          "offset",
          "timestamp"
        )
        else archived(s)
        write(frame, path)
        expire(blue, topic, 0 -> 3L)
        blue.produce(topic, json(3))
        s.service.histories = history(path)
        val query = s.start(typed(s), Trigger.AvailableNow())
        query.awaitTermination()
        assertSame(s.seen, (0 until 6).map(i => Seen("blue", topic, 0, i.toLong, s"${i}n", "orders")))
      }
    }
  }
}
