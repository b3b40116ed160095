package io.github.dynamickafka.source

import java.util.UUID

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.testkit.{KafkaCluster, Record}
import io.github.dynamickafka.{DynamicKafka, DynamicKafkaCatalog}

/** `changeData=upsert` on compacted topics; what becomes of a record is tested in `source.read` and `format.encode`. */
class UpsertSuite extends Queries {

  private val Upsert = Seq(
    "format" -> "json",
    "schema" -> "id INT, v STRING",
    "keyFormat" -> "json",
    "keyFields" -> "id",
    "changeData" -> "upsert"
  )

  private def compacted(clusters: KafkaCluster*): String = {
    val topic = newTopic()
    clusters.foreach(_.createTopic(topic, 2, Map("cleanup.policy" -> "compact")))
    topic
  }

  private def key(id: Int) = Some(s"""{"id": $id}""")
  private def put(id: Int, v: String) = Record(id % 2, key(id), s"""{"id": $id, "v": "$v"}""")
  private def delete(id: Int) = Record(id % 2, key(id), null)

  private def produceAll(cluster: KafkaCluster, topic: String, records: Record*): Unit = {
    val _ = cluster.produce(topic, records)
  }

  /** Cluster, partition, offset, key, value and kind of each record, as the records in Kafka say. */
  private def changesIn(id: String, cluster: KafkaCluster, topic: String): Seq[Seq[Any]] =
    cluster.dump(topic).map { r =>
      val own = """\d+""".r.findFirstIn(r.key.get).get.toInt
      val value = Option(r.value).map(_.split('"')(5)).orNull
      Seq[Any](id, r.partition, r.offset, own, value, if (value == null) "delete" else "update_postimage")
    }

  private val columns = Seq("cluster", "partition", "offset", "id", "v", "_change_type")
  private def rows(frame: DataFrame): Seq[Seq[Any]] =
    frame.selectExpr(columns: _*).collect().map(_.toSeq).toSeq

  /** The table that the changes give, if each cluster has keys of its own. */
  private def table(changes: Seq[Seq[Any]]): Set[(Any, Any, Any)] =
    changes.groupBy(c => (c(0), c(3))).values.map(_.maxBy(_(2).asInstanceOf[Long]))
      .filter(_(5) != "delete").map(c => (c(0), c(3), c(4))).toSet

  test(
    "two clusters, from a snapshot and on, over batches and a restart: each record once, and the same table"
  ) {
    val topic = compacted(blue, green)
    produceAll(blue, topic, put(1, "a"), put(2, "b"), put(1, "c"), delete(2), put(3, "d"))
    produceAll(green, topic, put(1, "x"), delete(7))
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val (data, checkpoint) = (of.folder.resolve("rows"), of.folder.resolve("own"))
      def run(): Unit = {
        val query = of.frame(Upsert :+ ("maxOffsetsPerTrigger" -> "2"): _*).selectExpr(columns: _*)
          .writeStream.format("parquet").option("path", data.toString)
          .option("checkpointLocation", checkpoint.toString).trigger(Trigger.AvailableNow()).start()
        try assert(query.awaitTermination(300000))
        finally query.stop()
      }
      run()
      produceAll(blue, topic, delete(1), put(2, "e"))
      produceAll(green, topic, put(7, "y"), put(1, "z"))
      run()
      val found = rows(spark.read.parquet(data.toString))
      val expected = changesIn("blue", blue, topic) ++ changesIn("green", green, topic)
      assert(found.size == 11 && found.size == expected.size && found.toSet == expected.toSet)
      assert(table(found) == Set(("blue", 2, "e"), ("blue", 3, "d"), ("green", 7, "y"), ("green", 1, "z")))
      assert(rows(of.batch(Upsert: _*)).toSet == expected.toSet)
      assert(of.batch(Upsert: _*).where("_change_type = 'delete'").count() == 3)
    }
  }

  test("a record without a key is a bad one, whatever is selected, and parseErrors decides") {
    val topic = compacted(blue)
    // A compacted topic refuses records without a key.
    produceAll(blue, topic, put(1, "a"), Record(0, Some("""{"other": 1}"""), """{"id": 5, "v": "x"}"""))
    val plain = newTopicOn(1, green)
    produceAll(green, plain, Record(0, None, """{"id": 6, "v": "y"}"""))
    scene { of =>
      Seq(
        (Entry("blue", blue, topic), "all of its fields are null"),
        (Entry("green", green, plain), "it is null")
      )
        .foreach { case (entry, reason) =>
          of.orders(entry)
          val error = intercept[Exception](of.batch(Upsert: _*).select("v").collect())
          val all =
            Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
          Seq("DECODE_FAILED", "key", reason).foreach(part => assert(all.contains(part), all))
        }
      of.orders(Entry("blue", blue, topic), Entry("green", green, plain))
      val dropped = of.batch(Upsert :+ ("parseErrors" -> "drop"): _*)
      assert(dropped.count() == 1 && dropped.select("v").collect().map(_.getString(0)).toSeq == Seq("a"))
      val kept = of.batch(Upsert :+ ("parseErrors" -> "keep"): _*)
      assert(kept.where("_decode_error IS NOT NULL AND _change_type IS NULL").count() == 2)
    }
  }

  test(
    "rows are written as upserts and read again: values, tombstones, no record for what an update replaces"
  ) {
    val topic = compacted(blue, green)
    target { t =>
      t.streams("out" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic)))
      val changes = spark.sql(
        """SELECT * FROM VALUES (1, 'a', 'insert'), (2, 'b', NULL), (1, 'a', 'update_preimage'),
          |  (1, 'c', 'update_postimage'), (2, 'b', 'delete'), (3, NULL, 'insert') AS t(id, v, _change_type)""".stripMargin
      ).coalesce(1)
      t.save(changes, Upsert.filterNot(_._1 == "schema"): _*)
      val records = committed(blue, topic) ++ committed(green, topic)
      assert(records.groupMap(_.key.get)(r => Option(r.value)) == Map(
        """{"id":1}""" -> Seq(Some("""{"id":1,"v":"a"}"""), Some("""{"id":1,"v":"c"}""")),
        """{"id":2}""" -> Seq(Some("""{"id":2,"v":"b"}"""), None),
        """{"id":3}""" -> Seq(Some("""{"id":3}"""))
      ))
      val read = spark.read.format(
        "dynamic-kafka"
      ).options(t.options(Upsert :+ ("streamIds" -> "out"): _*) - "streamId")
        .load()
      assert(table(rows(read)).map { case (_, id, v) => (id, v) } == Set((1, "c"), (3, null)))

      def failed(sql: String) = {
        val error = intercept[Exception](t.save(spark.sql(sql), Upsert: _*))
        Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString(" ")
      }
      val unroutable = failed("SELECT CAST(NULL AS INT) AS id, 'x' AS v, 'delete' AS _change_type")
      assert(
        unroutable.contains("UNROUTABLE_ROW") && unroutable.contains("the columns of its key are null"),
        unroutable
      )
      val unknown = failed("SELECT 9 AS id, 'x' AS v, 'upsert' AS _change_type")
      assert(unknown.contains("ENCODE_FAILED") && unknown.contains("'_change_type'"), unknown)
      assert((committed(blue, topic) ++ committed(green, topic)).size == records.size)
    }
  }

  test("a table in SQL and the builders: string keys, INSERT and SELECT") {
    val topic = compacted(blue)
    target { t =>
      t.streams("users" -> Seq(Entry("blue", blue, topic)))
      val k = s"k${UUID.randomUUID.toString.replace("-", "").take(8)}"
      spark.conf.set(s"spark.sql.catalog.$k", classOf[DynamicKafkaCatalog].getName)
      val options = Map(
        "format" -> "json",
        "schema" -> "name STRING, city STRING",
        "keyFormat" -> "string",
        "keyFields" -> "name",
        "valueFieldsInclude" -> "EXCEPT_KEY",
        "changeData" -> "upsert"
      )
      (t.options(options.toSeq: _*) - "streamId").foreach { case (name, value) =>
        spark.conf.set(s"spark.sql.catalog.$k.$name", value)
      }
      spark.sql(
        s"INSERT INTO $k.users SELECT * FROM VALUES ('ann', 'Rome', 'insert'), ('bob', 'Oslo', 'insert') AS t(name, city, _change_type)"
      )
      spark.sql(
        s"INSERT INTO $k.users SELECT 'ann' AS name, CAST(NULL AS STRING) AS city, 'delete' AS _change_type"
      )
      assert(committed(blue, topic).map(r => r.key.get -> r.value).toSet ==
        Set("ann" -> """{"city":"Rome"}""", "bob" -> """{"city":"Oslo"}""", "ann" -> null))
      val changes = spark.sql(s"SELECT name, city, _change_type FROM $k.users ORDER BY partition, offset")
      assert(changes.collect().map(_.toSeq).toSet == Set(
        Seq[Any]("ann", "Rome", "update_postimage"),
        Seq[Any]("bob", "Oslo", "update_postimage"),
        Seq[Any]("ann", null, "delete")
      ))
      DynamicKafka.writer(
        spark.sql("SELECT 'eve' AS name, 'delete' AS _change_type")
      ).setKafkaMetadataService(t.service)
        .setStreamId("users").setFormat("json").setSchema("name STRING, city STRING").setKeyFormat(
          "string",
          "name"
        )
        .setChangeData("upsert").save()
      assert(committed(blue, topic).filter(_.key.contains("eve")).map(_.value) == Seq(null))
    }
  }
}
