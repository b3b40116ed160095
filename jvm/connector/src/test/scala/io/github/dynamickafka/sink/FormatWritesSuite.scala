package io.github.dynamickafka.sink

import java.time.Duration

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.avro.Schema
import org.apache.avro.generic.{GenericDatumReader, GenericRecord}
import org.apache.avro.io.DecoderFactory
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.sql.functions.lit

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.KafkaCluster

/** Writing in formats on brokers, read by Kafka's consumer, Jackson and Avro; what becomes of a row is tested in `format.encode`. */
class FormatWritesSuite extends Queries {

  /** The keys and values that a `read_committed` consumer gets. */
  private def bytes(cluster: KafkaCluster, topic: String, count: Int): Seq[(Array[Byte], Array[Byte])] = {
    val consumer = new KafkaConsumer[Array[Byte], Array[Byte]](
      Map[String, AnyRef](
        "bootstrap.servers" -> cluster.bootstrapServers,
        "isolation.level" -> "read_committed"
      ).asJava,
      new ByteArrayDeserializer,
      new ByteArrayDeserializer
    )
    try {
      val partitions =
        consumer.partitionsFor(topic).asScala.map(p => new TopicPartition(topic, p.partition)).asJava
      consumer.assign(partitions)
      consumer.seekToBeginning(partitions)
      val found = mutable.Buffer.empty[(Array[Byte], Array[Byte])]
      waitFor(s"$count records") {
        found ++= consumer.poll(Duration.ofMillis(100)).asScala.map(r => r.key -> r.value)
        val ends = consumer.endOffsets(partitions).asScala
        ends.forall { case (partition, end) => consumer.position(partition) >= end }
      }
      found.toSeq
    } finally consumer.close()
  }

  private val avro = new Schema.Parser().parse(
    """{"type":"record","name":"topLevelRecord","fields":[
      |{"name":"id","type":["null","long"]},{"name":"name","type":["null","string"]}]}""".stripMargin
  )

  private def ofAvro(value: Array[Byte]): (Long, Option[String]) = {
    val record = new GenericDatumReader[GenericRecord](avro)
      .read(null, DecoderFactory.get().binaryDecoder(value, null))
    record.get("id").asInstanceOf[Long] -> Option(record.get("name")).map(_.toString)
  }

  private def ofJson(value: String): (Long, Option[String]) = {
    val tree = new ObjectMapper().readTree(value)
    tree.get("id").asLong -> Option(tree.get("name")).map(_.asText)
  }

  private def order(i: Int) = i.toLong -> Option.when(i % 3 != 0)(s"n$i")

  test("json by a job, at least once, then avro by a query, exactly once, on two clusters: exact multisets") {
    val (jsonTopic, avroTopic) = (newTopicOn(2, blue, green), newTopicOn(2, blue, green))
    target { t =>
      t.streams(
        "orders" -> Seq(Entry("blue", blue, jsonTopic), Entry("green", green, jsonTopic)),
        "out" -> Seq(Entry("blue", blue, avroTopic), Entry("green", green, avroTopic))
      )
      val orders = spark.range(40).selectExpr(
        "id",
        "if(id % 3 != 0, concat('n', id), null) as name",
        "if(id % 2 = 0, 'blue', 'green') as cluster"
      )
      DynamicKafka.writer(orders).setKafkaMetadataService(t.service).setStreamId("orders")
        .setFormat("json").setKeyFormat("json", "id").save()
      val expected = (0 until 40).groupBy(_ % 2).map { case (rest, ids) => rest -> ids.map(order) }
      for ((cluster, rest) <- Seq(blue -> 0, green -> 1)) {
        val records = committed(cluster, jsonTopic)
        assert(records.map(r => ofJson(r.value)).sorted == expected(rest).sorted)
        assert(records.flatMap(_.key).sorted == expected(rest).map(o => s"""{"id":${o._1}}""").sorted)
      }

      val read = spark.readStream.format("dynamic-kafka").options(
        t.options(
          "streamIds" -> "orders",
          "format" -> "json",
          "schema" -> "id LONG, name STRING"
        ) - "streamId"
      ).load()
      t.catchUp(
        read.select("id", "name", "cluster"),
        "deliveryGuarantee" -> "exactly-once",
        "format" -> "avro"
      )
      for ((cluster, rest) <- Seq(blue -> 0, green -> 1)) {
        val _ = cluster.awaitTransactionsEnded(avroTopic)
        val records = bytes(cluster, avroTopic, 20)
        assert(records.map(r => ofAvro(r._2)).sorted == expected(rest).sorted)
        assert(records.forall(_._1 == null))
      }
    }
  }

  test("changes as records of Debezium and Canal on two clusters; an unknown kind of change fails") {
    val topics = Seq("debezium-json", "canal-json").map(_ -> newTopicOn(1, blue, green))
    target { t =>
      topics.foreach { case (format, topic) =>
        t.streams("out" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic)))
        val changes = spark.range(6).selectExpr(
          "id",
          "element_at(array('insert', 'update_preimage', 'update_postimage', 'delete'), int(id % 4) + 1) as _change_type",
          "if(id < 4, 'blue', 'green') as cluster"
        )
        t.save(changes, "format" -> format, "keyFormat" -> "json", "keyFields" -> "id")
        def ops(cluster: KafkaCluster) = committed(cluster, topic).map { r =>
          val change = new ObjectMapper().readTree(r.value)
          val row = if (format == "canal-json") change.get("data").get(0)
          else {
            assert(change.fieldNames.asScala.toSeq == Seq("before", "after", "op"))
            change.get(if (change.get("op").asText == "d") "before" else "after")
          }
          assert(new ObjectMapper().readTree(r.key.get).get("id") == row.get("id"))
          row.get("id").asLong -> change.get(if (format == "canal-json") "type" else "op").asText
        }.sorted
        val (c, d) = if (format == "canal-json") "INSERT" -> "DELETE" else "c" -> "d"
        assert(ops(blue) == Seq(0L -> c, 1L -> d, 2L -> c, 3L -> d))
        assert(ops(green) == Seq(4L -> c, 5L -> d))
        val read = spark.read.format("dynamic-kafka")
          .options(t.options(
            "streamIds" -> "out",
            "format" -> format,
            "schema" -> "id BIGINT"
          ) - "streamId").load()
        assert(
          read.select("id", "_change_type").orderBy("id").collect().map(_.getString(1)).toSeq ==
            Seq("insert", "delete", "insert", "delete", "insert", "delete")
        )
        val failed =
          intercept[Exception](t.save(changes.withColumn("_change_type", lit("upsert")), "format" -> format))
        val causes = Iterator.iterate[Throwable](failed)(_.getCause).takeWhile(_ != null).map(_.toString)
        assert(causes.exists(e => e.contains("ENCODE_FAILED") && e.contains("'_change_type'")), failed)
        assert(committed(blue, topic).size == 4)
      }
    }
  }

  test("the metadata has the format, below options and above the settings of a catalog") {
    val topic = newTopicOn(1, blue, green)
    target { t =>
      t.service.formats = Map("orders" -> Map("format" -> "json", "schema" -> "id BIGINT, name STRING"))
      t.streams("orders" -> Seq(Entry("blue", blue, topic), Entry("green", green, topic)))
      val k = catalog(t, "format" -> "csv", "schema" -> "other INT", "csv.sep" -> ";")
      spark.sql(
        s"INSERT INTO $k.orders SELECT id, concat('n', id) AS name, if(id < 2, 'blue', 'green') AS cluster FROM range(4)"
      )
      for ((cluster, ids) <- Seq(blue -> Seq(0, 1), green -> Seq(2, 3)))
        assert(committed(cluster, topic).map(r => ofJson(r.value)).sorted == ids.map(i =>
          i.toLong -> Some(s"n$i")
        ))
      val read =
        spark.sql(s"SELECT id, name, cluster FROM $k.orders ORDER BY id").collect().map(_.toSeq).toSeq
      assert(read == Seq("blue", "blue", "green", "green").zipWithIndex.map { case (c, i) =>
        Seq[Any](i.toLong, s"n$i", c)
      })
      // A service of one's own can return what a document cannot contain.
      t.streams("orders" -> Seq(
        Entry("blue", blue, topic),
        Entry("green", green, topic).in("format" -> "avro")
      ))
      val e = intercept[Exception](spark.sql(s"SELECT * FROM $k.orders").collect())
      val all = Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null).map(_.toString).mkString(" ")
      Seq("METADATA_INVALID", "cluster 'green'", "'format'", "make a stream").foreach(part =>
        assert(all.contains(part), all)
      )
    }
  }

  test(
    "INSERT through a catalog with a format: by name, a missing column is null, an unknown one is refused"
  ) {
    val topic = newTopicOn(1, blue)
    target { t =>
      t.streams("orders" -> Seq(Entry("blue", blue, topic)))
      val k = catalog(
        t,
        "format" -> "json",
        "schema" -> "id BIGINT, name STRING, region STRING",
        "keyFormat" -> "string",
        // Options of one side only.
        "json.ignoreParseErrors" -> "true",
        "json.ignoreNullFields" -> "false"
      )
      spark.sql(s"INSERT INTO $k.orders SELECT 'eu' AS region, 7 AS id, 'k7' AS key")
      spark.sql(s"INSERT INTO $k.orders (name, id) VALUES ('x', 8)")
      assert(committed(blue, topic).map(r => r.key -> r.value) == Seq(
        Some("k7") -> """{"id":7,"name":null,"region":"eu"}""",
        None -> """{"id":8,"name":"x","region":null}"""
      ))
      assert(
        spark.sql(s"SELECT key, id, name, region FROM $k.orders ORDER BY id").collect().map(_.toSeq).toSeq ==
          Seq(Seq[Any]("k7", 7L, null, "eu"), Seq[Any](null, 8L, "x", null))
      )
      Seq("SELECT 1 AS id, 2 AS colour", "SELECT 'a' AS id").foreach { query =>
        val error = intercept[Exception](spark.sql(s"INSERT INTO $k.orders $query"))
        assert(error.toString.contains("INVALID_COLUMN"), error)
      }
      assert(committed(blue, topic).size == 2)
    }
  }
}
