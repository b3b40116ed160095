package io.github.dynamickafka.format.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.functions.{col, from_json}
import org.apache.spark.sql.types.{StringType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.source.SourceTest
import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

class JsonDecoderSuite extends AnyFunSuite with TimeLimit {
  private val Corrupt = "corrupt text"

  /** What Spark's function makes of these records, all in one job. */
  private def bySpark(
      records: Seq[Array[Byte]],
      schema: StructType,
      options: Map[String, String]
  ): Seq[Decoded] = {
    val spark = SourceTest.spark
    import spark.implicits._
    val withCorrupt = schema.add(Corrupt, StringType)
    val all = options + ("columnNameOfCorruptRecord" -> Corrupt)
    records.zipWithIndex.toDF("value", "n").repartition(2)
      .select(from_json(col("value").cast("string"), withCorrupt, all.asJava).as("json"), col("n"))
      .collect().sortBy(_.getInt(1)).map(row => Decoded.of(row.getStruct(0), schema)).toSeq
  }

  private def assertSame(records: Seq[Array[Byte]], side: SideLayout, options: Map[String, String]): Unit = {
    val schema = StructType(side.wanted.map(side.schema(_)))
    val _ = SourceTest.spark
    val decode = Decoded.by(new JsonDecoder(side), side)
    records.zip(bySpark(records, schema, options)).foreach { case (bytes, expected) =>
      assert(
        decode(bytes) == expected,
        s"${new String(bytes, UTF_8)} (${bytes.map("%02x".format(_)).mkString})"
      )
    }
  }

  private def side(options: (String, String)*) =
    Decoded.side(JsonRecords.Schema, options :+ ("format" -> "json"): _*)

  Seq(
    Map.empty[String, String],
    Map("allowSingleQuotes" -> "false", "allowNonNumericNumbers" -> "false", "timeZone" -> "Asia/Kolkata"),
    Map(
      "allowComments" -> "true",
      "allowUnquotedFieldNames" -> "true",
      "allowNumericLeadingZeros" -> "true",
      "allowBackslashEscapingAnyCharacter" -> "true",
      "allowUnquotedControlChars" -> "true"
    ),
    Map(
      "timestampFormat" -> "yyyy-MM-dd HH:mm:ss[.SSSSSS]",
      "dateFormat" -> "yyyy-MM-dd",
      "maxStringLen" -> "20",
      "maxNumLen" -> "12",
      "maxNestingDepth" -> "2"
    )
  ).zipWithIndex.foreach { case (options, n) =>
    test(s"random records as from_json: ${options.keys.toSeq.sorted.mkString(" ")}", NotInFast) {
      val records = JsonRecords.take(1500, TestSeed() + n)
      assertSame(records, side(options.map { case (k, v) => s"json.$k" -> v }.toSeq: _*), options)
    }
  }

  test("a part of the columns as from_json with these columns", NotInFast) {
    val all = side()
    Seq(Seq(0, 4, 16), Seq(8), Seq(13, 15)).foreach(wanted =>
      assertSame(JsonRecords.take(300, TestSeed() + 10), all.copy(wanted = wanted), Map.empty)
    )
  }

  Seq(
    Map.empty[String, String],
    Map(
      "allowNumericLeadingZeros" -> "true",
      "allowUnquotedControlChars" -> "true",
      "maxStringLen" -> "20",
      "maxNumLen" -> "12"
    )
  ).zipWithIndex.foreach { case (options, n) =>
    test(
      s"fields that no column needs, as from_json: ${options.keys.toSeq.sorted.mkString(" ")}",
      NotInFast
    ) {
      val all = side(options.map { case (k, v) => s"json.$k" -> v }.toSeq: _*)
      Seq(Seq(0, 4), Seq(16)).zipWithIndex.foreach { case (wanted, m) =>
        assertSame(
          JsonRecords.wideOnes(1500, TestSeed() + 20 + 2 * n + m),
          all.copy(wanted = wanted),
          options
        )
      }
    }
  }

  private def decode(ddl: String, options: (String, String)*): String => DecodeFailure = {
    val of = Decoded.side(ddl, options :+ ("format" -> "json"): _*)
    val decoder = new JsonDecoder(of)
    val into = new DecodedValues(of.types)
    text => decoder.decode(text.getBytes(UTF_8), into)
  }

  test("a failure names the field and its type, and contains nothing of the record") {
    val of = decode("id INT, name STRING")
    assert(of("{\"id\": 1}") == null)
    assert(of("{\"id\": \"secret\"}") == DecodeFailure(
      "the value is not of type INT",
      Some("id"),
      unparsable = false
    ))
    assert(of("{\"id\": 1, secret") == DecodeFailure("it is not valid JSON", None, unparsable = true))
    assert(of("[1]").unparsable)
    assert(!of("{\"id\": \"secret\"}").toString.contains("secret"))
  }

  test("failOnMissingField names the missing field") {
    val of = decode("id INT, name STRING", "json.failOnMissingField" -> "true")
    assert(of("{\"id\": 1, \"name\": null}") == null)
    assert(of("{\"id\": 1}").field.contains("name"))
    // Read by Spark's parser, because it is not UTF-8.
    val side = Decoded.side("id INT, name STRING", "format" -> "json", "json.failOnMissingField" -> "true")
    val decoder = new JsonDecoder(side)
    def withName(name: String) =
      s"{\"id\": 1, \"$name\": \"".getBytes(UTF_8) ++ Array(0xff.toByte) ++ "\"}".getBytes(UTF_8)
    assert(decoder.decode(withName("name"), new DecodedValues(side.types)) == null)
    assert(decoder.decode(withName("other"), new DecodedValues(side.types)).field.contains("name"))
  }

  test("the parser does not remember all names that it has seen") {
    val of = decode("m MAP<STRING, INT>")
    (1 to 20000).foreach(i => assert(of(s"""{"m":{"key-$i":$i}}""") == null))
    assert(of("""{"m":{"key-1":1}}""") == null)
  }
}
