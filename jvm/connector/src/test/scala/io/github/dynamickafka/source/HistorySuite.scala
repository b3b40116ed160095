package io.github.dynamickafka.source

import java.nio.file.{Files, Path}
import java.{util => ju}

import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.{DataFrame, SaveMode}

import io.github.dynamickafka.metadata.StreamHistory
import io.github.dynamickafka.source.history.HistoryBatches
import io.github.dynamickafka.testkit.{KafkaCluster, Record}

/** A new query reads the files of a history, and then Kafka from the record that follows. */
class HistorySuite extends SourceTest {

  private def values(prefix: String, n: Int) = (0 until n).map(i => s"$prefix$i")

  /** What the stream `orders` has in Kafka now, as a batch read returns it. */
  private def archived(s: Scene): DataFrame = s.batch("includeHeaders" -> "true")

  private def write(frame: DataFrame, to: Path, format: String = "parquet", files: Int = 1): Unit =
    frame.repartition(files).write.format(format).mode(SaveMode.Append).save(to.toString)

  private def history(path: Path, format: String = "parquet", cluster: String = null) =
    Map("orders" -> new StreamHistory(format, path.toString, ju.Map.of(), cluster))

  /** Removes the records up to these offsets from a topic. */
  private def expire(cluster: KafkaCluster, topic: String, before: (Int, Long)*): Unit =
    before.foreach { case (partition, offset) => cluster.deleteRecords(topic, partition, offset) }

  /** Six records on blue and on green, which are then in a history and no longer in Kafka, and four that follow. */
  private def twoClusters(format: String = "parquet", change: DataFrame => DataFrame = identity)(
      body: (Scene, String, Seq[Seen], Path) => Any
  ): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    Seq(blue, green).foreach(produce(_, topic, 2, values("old", 6)))
    val path = s.folder.resolve("archive")
    write(change(archived(s)), path, format, files = 3)
    val old = stored("blue", blue, topic) ++ stored("green", green, topic)
    Seq(blue, green).foreach(expire(_, topic, 0 -> 3L, 1 -> 3L))
    Seq(blue, green).foreach(produce(_, topic, 2, values("new", 4)))
    body(s, topic, old ++ stored("blue", blue, topic) ++ stored("green", green, topic), path)
    ()
  }

  Seq("parquet", "orc", "json").foreach { format =>
    test(s"the records of the history, and then those of Kafka, exactly once: $format") {
      twoClusters(format) { (s, _, all, path) =>
        s.service.histories = history(path, format)
        s.catchUp("historyFilesPerTrigger" -> "2", "includeHeaders" -> "true")
        assertSame(s.seen, all)
        assert(s.results.logged.history.isEmpty)
        // Two batches of files, one of Kafka.
        assert(s.results.batchCount == 3 && s.results.batch(2).forall(_.value.startsWith("new")))
        assert((0L to 1L).flatMap(s.results.batch).forall(_.value.startsWith("old")))
      }
    }
  }

  test("files that are added after the first start are not read, also after a restart") {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.results.inBatch = id => if (id == 0) write(spark.read.parquet(path.toString), path)
      s.catchUp("historyFilesPerTrigger" -> "1")
      s.catchUp("historyFilesPerTrigger" -> "1")
      assertSame(s.seen, all)
    }
  }

  test("files that a sink of Spark has not committed are not read") {
    twoClusters() { (s, _, all, path) =>
      val sunk = s.folder.resolve("sunk")
      val query = spark.readStream.schema(spark.read.parquet(path.toString).schema).parquet(path.toString)
        .writeStream.format("parquet").option("path", sunk.toString)
        .option("checkpointLocation", s.folder.resolve("sinking").toString).trigger(Trigger.AvailableNow()).start()
      query.awaitTermination()
      write(spark.read.parquet(path.toString), sunk)
      s.service.histories = history(sunk)
      s.catchUp()
      assertSame(s.seen, all)
    }
  }

  test("columns in the names of folders, and names with special characters") {
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
      assertSame(s.seen, stored("blue", blue, topic) ++ stored("green", green, topic).filter(_.value.startsWith("c")))
    }
  }

  test("a gap between the history and Kafka is DATA_LOSS with the expected and the first offset") {
    twoClusters() { (s, topic, all, path) =>
      expire(blue, topic, 1 -> 4L)
      s.service.histories = history(path)
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "DATA_LOSS")
      Seq("'blue'", topic, "partition 1", "before offset 3", "earliest available offset is 4", "offset 3 to 3")
        .foreach(part => assert(text(e).contains(part), text(e)))
      s.catchUp("failOnDataLoss" -> "false")
      assertSame(s.seen, all.filterNot(r => r.cluster == "blue" && r.partition == 1 && r.offset == 3L))
    }
  }

  test("records that expire in Kafka while the history is read are DATA_LOSS") {
    twoClusters() { (s, topic, _, path) =>
      s.service.histories = history(path)
      s.results.inBatch = id => if (id == 0) expire(green, topic, 0 -> 4L)
      val e = refused(s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "1"))
      assert(condition(e) == "DATA_LOSS")
      Seq("'green'", "next offset to read is 3", "earliest available offset is 4")
        .foreach(part => assert(text(e).contains(part), text(e)))
    }
  }

  private def positionless(all: Seq[Seen], partitions: Boolean) = all.map { r =>
    if (r.value.startsWith("new")) r
    else r.copy(offset = -1L, partition = if (partitions) r.partition else -1)
  }

  test("without offsets, Kafka follows with the first record that is later than those of the history") {
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

  test("rows without a column 'cluster' are of the cluster of the history, which has to be known") {
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

  test("records of a cluster that has left the stream are read, and the cluster follows on them if it returns") {
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

  test("a history that cannot be planned is METADATA_INVALID with its path") {
    twoClusters() { (s, _, _, path) =>
      val missing = s.folder.resolve("missing")
      val noFiles = Files.createDirectory(s.folder.resolve("none"))
      Seq(
        history(missing) -> Seq(missing.toString, "does not exist"),
        history(path, "delta") -> Seq(path.toString, "'delta'", "'parquet'"),
        history(path, "iceberg") -> Seq(path.toString, "'iceberg'"),
        history(path, "orc") -> Seq(path.toString, "cannot be read"),
        history(noFiles) -> Seq(noFiles.toString, "cannot be read")
      ).foreach { case (histories, says) =>
        s.service.histories = histories
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == "METADATA_INVALID", text(e))
        (says :+ "stream 'orders'").foreach(part => assert(text(e).contains(part), text(e)))
      }
    }
  }

  test("rows that cannot be placed are METADATA_INVALID, columns that do not fit are INVALID_SCHEMA") {
    twoClusters() { (s, _, _, path) =>
      val frame = spark.read.parquet(path.toString)
      Seq(
        ("null", frame.withColumn("offset", lit(null).cast("long")), "METADATA_INVALID", "no value in column 'offset'"),
        ("other", frame.withColumn("stream", lit("other")), "METADATA_INVALID", "stream 'other'"),
        ("text", frame.withColumn("value", col("value").cast("string")), "INVALID_SCHEMA", "no binary column 'value'"),
        ("time", frame.drop("timestamp"), "INVALID_SCHEMA", "no column 'timestamp'"),
        ("type", frame.withColumn("partition", lit("0")), "INVALID_SCHEMA", "'partition' does not fit")
      ).foreach { case (name, bad, error, says) =>
        write(bad, s.folder.resolve(name))
        s.service.histories = history(s.folder.resolve(name))
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == error && text(e).contains(says), text(e))
      }
    }
  }

  test("JSON with a damaged line fails the query") {
    twoClusters("json") { (s, _, _, path) =>
      Files.writeString(path.resolve("part-x.json"), "{\"value\": ")
      s.service.histories = history(path, "json")
      assert(condition(refused(s.start(Trigger.AvailableNow()))) == "METADATA_INVALID")
    }
  }

  (0L to 4L).foreach { batch =>
    test(s"a query that fails in batch $batch reads the same again") {
      twoClusters() { (s, _, all, path) =>
        s.service.histories = history(path)
        s.results.inBatch = id => if (id == batch) throw new IllegalStateException("fails")
        val options = Seq("historyFilesPerTrigger" -> "1", "maxOffsetsPerTrigger" -> "4")
        val query = s.start(Trigger.AvailableNow(), options: _*)
        eventually(assert(!query.isActive))
        s.results.inBatch = _ => ()
        s.service.histories = Map.empty
        s.catchUp(options: _*)
        assert(s.results.repeated == Set(batch))
        assertSame(s.seen, all)
      }
    }
  }

  test("a query that ends before batch 0 is logged starts at the same files") {
    twoClusters() { (s, _, all, path) =>
      s.service.histories = history(path)
      s.results.inBatch = _ => throw new IllegalStateException("fails")
      val query = s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "2")
      eventually(assert(!query.isActive))
      s.results.unlog()
      s.results.forgetRows()
      s.results.inBatch = _ => ()
      write(spark.read.parquet(path.toString), path)
      s.catchUp("historyFilesPerTrigger" -> "1")
      assertSame(s.seen, all)
    }
  }

  test("a history that is added to a query that has started is ignored, with one line in the log") {
    twoClusters() { (s, topic, _, path) =>
      s.catchUp()
      val lines = Logs.during(classOf[HistoryBatches]) {
        s.service.histories = history(path)
        val query = s.start()
        settle(query)
        produce(blue, topic, 2, values("more", 2))
        settle(query)
      }
      assert(lines.size == 1 && lines.head.contains("history of stream 'orders'"), lines)
      assert(!s.seen.exists(_.value.startsWith("old")))
    }
  }

  test("files that are not read are a metric; batch reads read Kafka only") {
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

  private def typed(s: Scene, more: (String, String)*): DataFrame =
    s.frame(more ++ Seq("format" -> "json", "schema" -> "id BIGINT, name STRING"): _*)
      .selectExpr("cluster", "topic", "partition", "offset", "concat(id, name) as value", "stream")

  test("a history with values is decoded like records, one with decoded columns is taken with casts") {
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
        val query = s.results.start(typed(s), Trigger.AvailableNow())
        query.awaitTermination()
        assertSame(s.seen, (0 until 6).map(i => Seen("blue", topic, 0, i.toLong, s"${i}n", "orders")))
      }
    }
  }

  test("a history without the decoded columns is INVALID_SCHEMA with their names") {
    twoClusters(change = _.drop("value")) { (s, _, _, path) =>
      s.service.histories = history(path)
      val e = refused(s.results.start(typed(s), Trigger.AvailableNow()))
      assert(condition(e) == "INVALID_SCHEMA")
      Seq("'id', 'name'", "binary column 'value'", path.toString).foreach(part => assert(text(e).contains(part), text(e)))
    }
  }
}
