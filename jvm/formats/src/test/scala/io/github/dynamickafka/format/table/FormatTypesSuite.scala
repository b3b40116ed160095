package io.github.dynamickafka.format.table

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.apache.spark.types.variant.VariantBuilder
import org.apache.spark.unsafe.types.VariantVal
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.schemaregistry.{Framing, RegistryServer}
import io.github.dynamickafka.testkit.TimeLimit

/** The table of types in docs/formats.md is what the formats do. */
class FormatTypesSuite extends AnyFunSuite with BeforeAndAfterAll with TimeLimit {
  private val Formats = Seq("json", "csv", "avro")
  private val server = new RegistryServer

  private val samples: Seq[(String, Any)] = Seq(
    "BOOLEAN" -> true,
    "TINYINT" -> 5.toByte,
    "SMALLINT" -> 300.toShort,
    "INT" -> 70000,
    "BIGINT" -> 5000000000L,
    "FLOAT" -> 1.5f,
    "DOUBLE" -> 0.1,
    "DECIMAL(10, 2)" -> new java.math.BigDecimal("12.50"),
    "STRING" -> "a, \"b\"",
    "BINARY" -> Array[Byte](0, -1),
    "DATE" -> java.sql.Date.valueOf("2026-11-23"),
    "TIMESTAMP" -> java.sql.Timestamp.from(java.time.Instant.parse("2026-11-23T01:02:03.123456Z")),
    "TIMESTAMP_NTZ" -> java.time.LocalDateTime.parse("2026-11-23T01:02:03.123456"),
    "INTERVAL DAY TO SECOND" -> java.time.Duration.ofSeconds(90061),
    "ARRAY<INT>" -> Seq(1, 2),
    "MAP<STRING, INT>" -> Map("a" -> 1),
    "MAP<INT, STRING>" -> Map(1 -> "a"),
    "STRUCT<a: INT, b: STRING>" -> Row(1, "x"),
    "VARIANT" -> FormatTypesSuite.variant("""{"a": [1, null, "x"]}""")
  )

  override protected def afterAll(): Unit = server.close()

  private def works(format: String, ddl: String, value: Any): Boolean = Try {
    val schema = StructType.fromDDL(s"first INT, c $ddl")
    val registry = if (format.endsWith("confluent")) Seq("registry.url" -> server.url) else Nil
    val encoding = ParsedFormats.write(registry :+ ("format" -> format): _*).encoding(
      schema,
      Set.empty,
      caseSensitive = false
    )
    val row =
      CatalystTypeConverters.createToCatalystConverter(schema)(Row(1, value)).asInstanceOf[InternalRow]
    val side = ParsedFormats.read(registry ++ Seq(
      "format" -> format,
      "schema" -> s"first INT, c $ddl"
    ): _*).layout(None, includeHeaders = false).value
    val bytes = new RowEncoder(encoding.value, "value")(row)
    val record = encoding.frames.headOption.fold(bytes)(new Framing(_).framed("blue", "t", bytes))
    val decoder = Decoders.of(side)
    decoder.from("blue")
    val read = Decoded.by(decoder, side)(record)
    read == Decoded.of(Row(1, value, null), schema)
  }.getOrElse(false)

  test("formats with a registry have the types of those without") {
    for ((ddl, value) <- samples; format <- Seq("json", "avro"))
      assert(works(s"$format-confluent", ddl, value) == works(format, ddl, value), s"$format $ddl")
  }

  test("the table has every type by every format, as it is written and read") {
    val verdicts = samples.map { case (ddl, value) =>
      s"`$ddl`" -> Formats.map(f => if (works(f, ddl, value)) "yes" else "no")
    }
    val expected = verdicts.map(_._2).distinct.map { verdict =>
      (verdicts.collect { case (ddl, `verdict`) => ddl }.mkString(", ") +: verdict).mkString(
        "| ",
        " | ",
        " |"
      )
    }
    val file = Path.of(System.getProperty("dynamickafka.root"), "docs", "formats.md")
    val found = Files.readAllLines(file).asScala.toSeq.dropWhile(_ != "## Types").takeWhile(l =>
      l == "## Types" || !l.startsWith("## ")
    ).filter(_.startsWith("| `"))
    assert(found == expected, expected.mkString("\n", "\n", "\n"))
  }
}

private object FormatTypesSuite {
  def variant(json: String): VariantVal = {
    val parsed = VariantBuilder.parseJson(json, false)
    new VariantVal(parsed.getValue, parsed.getMetadata)
  }
}
