package io.github.dynamickafka.source.read

import java.nio.ByteBuffer
import java.sql.{Date, Timestamp}
import java.time.Instant

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.schemaregistry.{RegistryServer, WireFormat}
import io.github.dynamickafka.source.read.DebeziumRecords.{Envelope, written}
import io.github.dynamickafka.testkit.TimeLimit

/** The format debezium-avro-confluent. */
class ChangeAvroSuite extends AnyFunSuite with TimeLimit {
  private val read = new ReadRecords

  private val int = """{"name":"id","type":"int"}"""
  private val name = """{"name":"name","type":["null","string"],"default":null}"""
  private val customers = Envelope.format(s"$int,$name")

  private def layout(url: String, options: (String, String)*): Layout = {
    val all = Map(
      "format" -> "debezium-avro-confluent",
      "registry.url" -> url,
      "schema" -> "id INT, name STRING",
      "metadataColumns" -> ""
    ) ++ options
    read.layout(all.toSeq: _*)
  }

  private def rows(layout: Layout)(values: Array[Byte]*): Seq[Seq[Any]] =
    read.of(new TaskDecoder(Decoding(layout, read.counts)), "blue", layout)(values: _*)

  private def row(values: Any*): Seq[Any] = values
  private def at(text: String) = Timestamp.from(Instant.parse(text))

  private val anne = Some(row(1004, "Anne"))
  private val annabel = Some(row(1004, "Annabel"))

  test("the rows and the metadata of debezium-json") {
    RegistryServer.serving { registry =>
      val id = registry.register("x", customers)
      def of(op: String, before: Option[Seq[Any]], after: Option[Seq[Any]]) =
        written(id, customers, op, before, after)
      val records = Seq(
        of("r", None, anne),
        of("c", None, anne),
        of("u", anne, annabel),
        of("u", None, annabel),
        of("d", annabel, None),
        null
      )
      val metadata = "metadataColumns" -> ("value.source.table AS origin, value.source.timestamp, " +
        "value.ingestion-timestamp, value.source.schema, value.source.database, offset")
      val about = row(
        "customers",
        at("2025-11-23T04:00:00.123Z"),
        at("2025-11-23T04:00:00.456Z"),
        "public",
        "shop"
      )
      assert(rows(layout(registry.url, metadata))(records: _*) == Seq(
        row(1004, "Anne", "insert") ++ about :+ 0L,
        row(1004, "Anne", "insert") ++ about :+ 1L,
        row(1004, "Anne", "update_preimage") ++ about :+ 2L,
        row(1004, "Annabel", "update_postimage") ++ about :+ 2L,
        row(1004, "Annabel", "update_postimage") ++ about :+ 3L,
        row(1004, "Annabel", "delete") ++ about :+ 4L
      ))
      val properties =
        rows(layout(registry.url, "metadataColumns" -> "value.source.properties"))(records.head)
      val source = properties.head.last.asInstanceOf[scala.collection.Map[String, String]]
      assert(source("txId") == "555" && source("snapshot") == "false" && source.size == 7)
      assert(registry.paths.distinct.size == 1)
    }
  }

  test("envelopes, also with some columns only") {
    RegistryServer.serving { registry =>
      val id = registry.register("x", customers)
      val of = layout(registry.url, "changeData" -> "envelope")
      val records = Seq(written(id, customers, "u", anne, annabel), written(id, customers, "t", None, None))
      val found = rows(of)(records: _*)
      assert(found.map(_.head) == Seq("u", "t") && found.map(_(4)) == Seq(1763870400456L, 1763870400456L))
      assert(found.head(1).toString == "[1004,Anne]" && found.head(2).toString == "[1004,Annabel]")
      assert(found(1).slice(1, 3) == Seq(null, null))
      assert(found.head(3).asInstanceOf[scala.collection.Map[String, String]]("table") == "customers")
      assert(rows(of.pruned(Seq("op", "ts_ms")))(records: _*) == Seq(
        row("u", 1763870400456L),
        row("t", 1763870400456L)
      ))
    }
  }

  test(
    "schemas that evolve, as columns of DDL and resolved to an Avro schema of the rows; another name of the table"
  ) {
    RegistryServer.serving { registry =>
      val old = Envelope.format(int)
      val renamed =
        customers.replace("shop.public", "other").replace("\"name\":\"name\"", "\"name\":\"first\"")
      val (a, b, c) =
        (registry.register("x", old), registry.register("x", customers), registry.register("x", renamed))
      val records = Seq(
        written(a, old, "c", None, Some(Seq(1))),
        written(b, customers, "u", Some(Seq(2, null)), Some(Seq(2, "b"))),
        written(c, renamed, "d", Some(Seq(3, "c")), None)
      )
      assert(rows(layout(registry.url))(records: _*) == Seq(
        row(1, null, "insert"),
        row(2, null, "update_preimage"),
        row(2, "b", "update_postimage"),
        row(3, null, "delete")
      ))
      val reader =
        """{"type":"record","name":"Mine","fields":[{"name":"id","type":"long"},
          |{"name":"name","type":["string","null"],"default":"none","aliases":["first"]}]}""".stripMargin
      assert(rows(layout(registry.url, "schema" -> reader))(records: _*) == Seq(
        row(1L, "none", "insert"),
        row(2L, null, "update_preimage"),
        row(2L, "b", "update_postimage"),
        row(3L, "c", "delete")
      ))
    }
  }

  test("logical types, which an Avro schema of the rows has to have in the same units") {
    RegistryServer.serving { registry =>
      def fields(unit: String) =
        s"""{"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
           |{"name":"at","type":{"type":"long","logicalType":"timestamp-$unit"}},
           |{"name":"credit","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}}""".stripMargin
      val envelope = Envelope.format(fields("millis"))
      val id = registry.register("x", envelope)
      val credit = ByteBuffer.wrap(java.math.BigInteger.valueOf(1050).toByteArray)
      val record = written(id, envelope, "c", None, Some(Seq(1, 1500L, credit)))
      val ddl = "schema" -> "day DATE, at TIMESTAMP, credit DECIMAL(10, 2)"
      assert(
        rows(layout(registry.url, ddl))(record) ==
          Seq(row(Date.valueOf("1970-01-02"), at("1970-01-01T00:00:01.5Z"), "10.50", "insert"))
      )
      def reader(unit: String) = "schema" -> s"""{"type":"record","name":"R","fields":[${fields(unit)}]}"""
      assert(rows(layout(registry.url, reader("millis")))(record).size == 1)
      val e = intercept[DynamicKafkaRuntimeException](rows(layout(registry.url, reader("micros")))(record))
      assert(
        e.getMessage.contains("'before.at' has another logical type") && e.getMessage.contains(s"$id"),
        e
      )
    }
  }

  test("each cluster has its registry, whose ids mean other schemas") {
    RegistryServer.serving { first =>
      RegistryServer.serving { second =>
        val other = Envelope.format(s"$name,$int")
        val id = first.register("x", customers)
        assert(second.register("x", other) == id)
        val of = layout(first.url, "cluster.green.registry.url" -> second.url)
        val decoder = new TaskDecoder(Decoding(of, read.counts))
        val (blue, green) =
          (written(id, customers, "c", None, anne), written(id, other, "c", None, Some(Seq("G", 7))))
        (1 to 2).foreach { _ =>
          assert(read.of(decoder, "blue", of)(blue) == Seq(row(1004, "Anne", "insert")))
          assert(read.of(decoder, "green", of)(green) == Seq(row(7, "G", "insert")))
        }
      }
    }
  }

  test("bad records: no id, an unknown one, no envelope, no operation, no row") {
    RegistryServer.serving { registry =>
      val id = registry.register("x", customers)
      val plain = """{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}"""
      val other = registry.register("x", plain)
      val good = written(id, customers, "c", None, Some(Seq(1, "secret")))
      val bad = Seq[(Array[Byte], String)](
        """{"op":"c"}""".getBytes -> "does not begin with the id",
        WireFormat.framed(9999, good.drop(5)) -> "schema id 9999",
        WireFormat.framed(other, Array[Byte](2)) -> "not that of an envelope",
        written(id, customers, "x", None, Some(Seq(1, "secret"))) -> "'op' is none of",
        written(id, customers, "d", None, Some(Seq(1, "secret"))) -> "'before' is missing",
        written(id, customers, "u", Some(Seq(1, "secret")), None) -> "'after' is missing",
        good.dropRight(2) -> "not an Avro record",
        (good :+ 0.toByte) -> "bytes are left"
      )
      bad.foreach { case (bytes, reason) =>
        val kept = rows(layout(registry.url, "parseErrors" -> "keep"))(bytes)
        assert(kept.size == 1 && kept.head.take(3) == row(null, null, null), reason)
        val error = kept.head.last.toString
        assert(error.contains(reason) && !error.contains("secret"), error)
        assert(error.contains("schema id") == WireFormat.hasHeader(bytes), error)
        assert(rows(layout(registry.url, "parseErrors" -> "drop"))(bytes, null, good).size == 1)
        intercept[DynamicKafkaRuntimeException](rows(layout(registry.url))(bytes))
      }
    }
  }
}
