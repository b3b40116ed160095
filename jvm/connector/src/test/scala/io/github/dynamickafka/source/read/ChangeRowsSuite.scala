package io.github.dynamickafka.source.read

import java.sql.Timestamp
import java.time.Instant

import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.source.read.ChangeRecords._
import io.github.dynamickafka.testkit.TimeLimit

class ChangeRowsSuite extends AnyFunSuite with TimeLimit {
  private val read = new ReadRecords

  private val columns = Seq("schema" -> "id INT, name STRING, credit DECIMAL(10,2)", "metadataColumns" -> "")

  private def rows(format: String, options: (String, String)*)(values: String*): Seq[Seq[Any]] =
    read.rows(read.layout((columns :+ ("format" -> format)) ++ options: _*))(values: _*)

  private def row(values: Any*): Seq[Any] = values

  private def failure(format: String, options: (String, String)*)(value: String): String =
    intercept[DynamicKafkaRuntimeException](rows(format, options: _*)(value)).getMessage

  private def at(text: String) = Timestamp.from(Instant.parse(text))

  private val anne = row(1004, "Anne", "10.50")
  private val annabel = row(1004, "Annabel", null)

  test("debezium-json: inserts and snapshots, both images of updates, deletes") {
    assert(
      rows("debezium-json")(Debezium.read, Debezium.create, Debezium.update, Debezium.delete) == Seq(
        anne :+ "insert",
        anne :+ "insert",
        anne :+ "update_preimage",
        annabel :+ "update_postimage",
        annabel :+ "delete"
      )
    )
  }

  test("debezium-json: an update without its preimage is the postimage alone") {
    assert(rows("debezium-json")(Debezium.updateWithoutBefore) == Seq(annabel :+ "update_postimage"))
  }

  test("debezium-json with the schema in the records") {
    val wrapped = Seq(Debezium.create, Debezium.update).map(Debezium.withSchema)
    assert(
      rows("debezium-json", "debezium-json.schema-include" -> "true")(wrapped: _*).map(_.last) ==
        Seq("insert", "update_preimage", "update_postimage")
    )
    assert(failure("debezium-json", "debezium-json.schemaInclude" -> "true")(
      Debezium.create
    ).contains("'payload' is missing"))
    assert(failure("debezium-json")(wrapped.head).contains("'op' is missing"))
    val schema = rows(
      "debezium-json",
      "value.debezium-json.schemaInclude" -> "true",
      "metadataColumns" -> "value.schema, value.source.table"
    )(wrapped.head).head
    assert(schema(4).toString.contains("shop.public.customers.Envelope") && schema(5) == "customers")
  }

  test("a null or empty value yields no row and is no bad record") {
    val before = read.counts.errors.sum
    Seq("debezium-json", "canal-json", "maxwell-json", "ogg-json").foreach(format =>
      Seq("fail", "null", "drop", "keep").foreach(policy =>
        assert(rows(format, "parseErrors" -> policy)(null, "") == Nil)
      )
    )
    assert(read.counts.errors.sum == before)
  }

  test("canal-json: all rows of a statement, and values that are texts") {
    val scooter = row(101, "scooter", "3.14")
    val battery = row(102, null, "8.10")
    assert(rows("canal-json")(Canal.insert) == Seq(scooter :+ "insert", battery :+ "insert"))
    assert(rows("canal-json")(Canal.delete) == Seq(scooter :+ "delete", battery :+ "delete"))
    // `old` has what was changed: its null was a null, a field that it lacks has not changed.
    assert(
      rows("canal-json")(Canal.update) == Seq(
        row(101, null, "3.14", "update_preimage"),
        scooter :+ "update_postimage",
        row(102, "battery", "9.10", "update_preimage"),
        battery :+ "update_postimage"
      )
    )
    assert(rows("canal-json")(Canal.updateWithoutOld).map(_.last).distinct == Seq("update_postimage"))
    assert(rows("canal-json")(Canal.create) == Nil)
    assert(failure("canal-json")(Canal.alter).contains("'type' is none of"))
    assert(failure("canal-json")(Canal.lengths).contains("different lengths"))
    assert(failure("canal-json")(Canal.badField).contains("'id'"))
  }

  test("canal-json: only the included databases and tables, whatever the other rows are") {
    val table = "canal-json.table.include" -> "prod.*"
    assert(rows("canal-json", table)(Canal.otherTable, Canal.insert).map(_.head) == Seq(101, 102))
    assert(rows("canal-json", "canal-json.database.include" -> "inv")(Canal.insert) == Nil)
  }

  test("maxwell-json: old has what was changed, and bootstraps are inserts") {
    assert(
      rows("maxwell-json")(Maxwell.insert, Maxwell.update, Maxwell.delete) == Seq(
        row(1, "Stanislaw Lem", "42.50", "insert"),
        row(1, null, "42.50", "update_preimage"),
        row(1, "Lem", null, "update_postimage"),
        row(1, "Lem", null, "delete")
      )
    )
    assert(rows("maxwell-json")(Maxwell.bootstrapStart, Maxwell.bootstrap).map(_.last) == Seq("insert"))
    assert(failure("maxwell-json")(Maxwell.unknown).contains("'type' is none of"))
  }

  test("ogg-json") {
    assert(
      rows("ogg-json")(Ogg.insert, Ogg.update, Ogg.delete) == Seq(
        row(111, "Big scooter", "5.17", "insert"),
        row(111, "scooter", "5.15", "update_preimage"),
        row(111, "Big scooter", "5.17", "update_postimage"),
        row(111, "scooter", "5.15", "delete")
      )
    )
    assert(failure("ogg-json")(Ogg.truncate).contains("'op_type' is none of"))
  }

  test("metadata of the formats, renamed and between other metadata") {
    val debezium = rows(
      "debezium-json",
      "metadataColumns" -> ("offset; value.source.table AS origin; value.source.timestamp; value.source.database;" +
        "value.source.schema; value.ingestion-timestamp; value.source.properties")
    )(Debezium.update)
    debezium.foreach(found =>
      assert(
        found.slice(4, 10) == row(
          0L,
          "customers",
          at("2025-11-23T04:00:00.123Z"),
          "shop",
          "public",
          at("2025-11-23T04:00:00.456Z")
        )
      )
    )
    assert(debezium.head(10).asInstanceOf[scala.collection.Map[String, String]]("txId") == "555")
    val canal = rows(
      "canal-json",
      "metadataColumns" -> ("value.database, value.table, value.pk-names, value.event-timestamp," +
        "value.ingestion-timestamp, value.sql-type")
    )(Canal.insert).last.drop(4)
    assert(
      canal.take(5) == row(
        "inventory",
        "products",
        Seq("id"),
        at("2020-05-13T12:38:35Z"),
        at("2020-05-13T12:38:35.477Z")
      )
    )
    assert(canal(5).asInstanceOf[scala.collection.Map[String, Int]]("name") == 12)
    assert(
      rows(
        "maxwell-json",
        "metadataColumns" -> "value.ingestion-timestamp,value.primary-key-columns,value.table"
      )(
        Maxwell.insert
      ).head.drop(4) == row(at("2015-12-10T22:25:10Z"), Seq("id"), "maxwell")
    )
    assert(
      rows(
        "ogg-json",
        "ogg-json.timeZone" -> "UTC",
        "metadataColumns" -> "value.event-timestamp,value.ingestion-timestamp,value.primary-keys,value.table"
      )(Ogg.delete).head.drop(4) ==
        row(at("2020-05-13T15:40:06Z"), at("2020-05-13T15:40:07.125Z"), Seq("id"), "OGG.PRODUCTS")
    )
  }

  test("envelopes") {
    val source = Seq("changeData" -> "envelope", "debezium-json.timeZone" -> "UTC")
    val found =
      rows("debezium-json", source: _*)(Debezium.update, Debezium.deleteWithoutBefore, Debezium.truncate)
    assert(found.map(_.head) == Seq("u", "d", "t"))
    val Seq(_, before, after, origin, time) = found.head
    assert(
      before.asInstanceOf[Row].getString(1) == "Anne" && after.asInstanceOf[Row].getString(1) == "Annabel"
    )
    assert(origin.asInstanceOf[scala.collection.Map[String, String]]("lsn") == "24023128")
    assert(time == 1763870400456L)
    val canal = rows("canal-json", "changeData" -> "envelope")(Canal.update)
    assert(canal.map(_.head) == Seq("u", "u"))
    assert(canal.last(1).asInstanceOf[Row].getString(1) == "battery")
    assert(canal.last(3) == Map("db" -> "inventory", "table" -> "products"))
    assert(canal.last(4) == 1589373515477L)
  }

  test("numbers as texts, and texts as numbers") {
    assert(rows("debezium-json")(Debezium.numbersAsTexts) == Seq(row(1004, "5", "1.50", "insert")))
  }

  test("bad records: a field that does not fit, and what is no change") {
    val bad = Debezium.badField
    assert(failure("debezium-json")(bad).contains("'id'"))
    assert(!failure("debezium-json")(bad).contains("secret-text"))
    val nothing = row(null, null, null, null)
    assert(
      rows("debezium-json", "parseErrors" -> "null")(bad, "nothing", Debezium.truncate) ==
        Seq(row(null, "Anne", "1.00", "insert"), nothing, nothing)
    )
    val kept = rows("debezium-json", "parseErrors" -> "keep")(bad, Debezium.update)
    assert(kept.map(_.take(4).last) == Seq("insert", "update_preimage", "update_postimage"))
    assert(kept.map(_(4)) == Seq(bad, null, null))
    val before = (read.counts.errors.sum, read.counts.dropped.sum)
    assert(rows("debezium-json", "parseErrors" -> "drop")(bad, "nothing", Debezium.update).length == 2)
    // Of Flink: the field is null, and what is no change has no rows.
    assert(
      rows("debezium-json", "debezium-json.ignore-parse-errors" -> "true")(bad, "{}", Debezium.truncate) ==
        Seq(row(null, "Anne", "1.00", "insert"))
    )
    assert((read.counts.errors.sum - before._1, read.counts.dropped.sum - before._2) == ((5L, 4L)))
  }

  test("a bad record after one with several rows leaves none of these") {
    assert(
      rows("debezium-json", "parseErrors" -> "drop")(Debezium.update, "nothing", null, Debezium.create).map(
        _.last
      ) ==
        Seq("update_preimage", "update_postimage", "insert")
    )
  }

  test("fields that no column needs are not looked at, and the rows stay the same") {
    val whole = read.layout(
      columns ++ Seq("format" -> "canal-json", "metadataColumns" -> "offset,value.table"): _*
    )
    def pruned(names: String*)(values: String*) = read.rows(whole.pruned(names))(values: _*)
    assert(pruned("name")(
      Canal.badField,
      Canal.update
    ).map(_.head) == Seq("a", null, "scooter", "battery", null))
    assert(pruned()(Canal.update, Canal.create).length == 4)
    assert(pruned("table", "_change_type")(Canal.delete) == Seq.fill(2)(row("products", "delete")))
  }
}
