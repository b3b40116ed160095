package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.types.{MetadataBuilder, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.table.{AgainstSpark, BySpark, Decoded}
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, SideLayout}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

class JsonDecoderSuite extends AnyFunSuite with TimeLimit with AgainstSpark {
  private def assertAsFromJson(
      records: Seq[Array[Byte]],
      side: SideLayout,
      options: Map[String, String]
  ): Unit = {
    val bad = assertSame(side, new JsonDecoder(side), records)(BySpark.json(side, options))
    assert(bad > 0 && bad < records.size)
  }

  private def side(options: (String, String)*) =
    Decoded.side(JsonRecords.Schema, options :+ ("format" -> "json"): _*)

  test("random records as from_json, with defaults of columns that are missing") {
    val defaults = Map("i" -> "5", "s" -> "'x'", "d" -> "1.5D", "l" -> "7L")
    val schema = StructType(StructType.fromDDL(JsonRecords.Schema).map { field =>
      defaults.get(field.name).fold(field) { value =>
        val metadata =
          new MetadataBuilder().putString("EXISTS_DEFAULT", value).putString("CURRENT_DEFAULT", value)
        field.copy(metadata = metadata.build())
      }
    })
    assertAsFromJson(
      JsonRecords.take(RandomCases(500), TestSeed() + 20),
      Decoded.side(schema.json, "format" -> "json"),
      Map.empty
    )
  }

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
    test(s"random records as from_json: ${options.keys.toSeq.sorted.mkString(" ")}") {
      val records = JsonRecords.take(RandomCases(500), TestSeed() + n)
      assertAsFromJson(records, side(options.map { case (k, v) => s"json.$k" -> v }.toSeq: _*), options)
    }
  }

  test("a part of the columns as from_json with these columns") {
    val all = side()
    Seq(Seq(0, 4, 16), Seq(8), Seq(13, 15)).foreach(wanted =>
      assertAsFromJson(
        JsonRecords.take(RandomCases(300), TestSeed() + 10),
        all.copy(wanted = wanted),
        Map.empty
      )
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
    test(s"fields that no column needs, as from_json: ${options.keys.toSeq.sorted.mkString(" ")}") {
      val all = side(options.map { case (k, v) => s"json.$k" -> v }.toSeq: _*)
      Seq(Seq(0, 4), Seq(16)).zipWithIndex.foreach { case (wanted, m) =>
        assertAsFromJson(
          JsonRecords.wideOnes(RandomCases(500), TestSeed() + 20 + 2 * n + m),
          all.copy(wanted = wanted),
          options
        )
      }
    }
  }

  Seq(
    Map.empty[String, String],
    Map("maxStringLen" -> "24", "maxNumLen" -> "12", "allowNumericLeadingZeros" -> "true"),
    Map("timestampFormat" -> "yyyy-MM-dd HH:mm:ss[.SSSSSS]X", "dateFormat" -> "yyyy-dd-MM")
  ).zipWithIndex.foreach { case (options, n) =>
    test(
      s"fields in the order of the record before, as from_json: ${options.keys.toSeq.sorted.mkString(" ")}"
    ) {
      val all = side(options.map { case (k, v) => s"json.$k" -> v }.toSeq: _*)
      // The columns one by one, so that what is wrong with another one does not hide a difference.
      val columns = JsonRecords.plainColumns.map(all.schema.fieldIndex)
      columns.map(Seq(_)).foreach(wanted =>
        assertSame(
          all.copy(wanted = wanted),
          new JsonDecoder(all.copy(wanted = wanted)),
          JsonRecords.steadyOnes(RandomCases(if (n == 0) 150 else 75), TestSeed() + 30 + n)
        )(BySpark.json(all.copy(wanted = wanted), options))
      )
      assertAsFromJson(
        JsonRecords.steadyOnes(RandomCases(150), TestSeed() + 40 + n),
        all.copy(wanted = columns),
        options
      )
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

  test("with another version of Jackson, Spark's parser decodes all records") {
    val all = side()
    val decoder = new JsonDecoder(all, (_, _) => throw new NoSuchFieldError("_inputBuffer"))
    assertSame(all, decoder, JsonRecords.take(100, TestSeed()))(BySpark.json(all, Map.empty))
  }
}
