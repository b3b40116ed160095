package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonFactory
import com.fasterxml.jackson.core.io.SerializedString
import org.apache.spark.sql.types.{DataType, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.DecodedValues
import io.github.dynamickafka.testkit.TimeLimit

/** What is read without Jackson's parser. That all of it is what `from_json` gives is shown by `JsonDecoderSuite`. */
class PlainFieldsSuite extends AnyFunSuite with TimeLimit {

  private def column(name: String, dataType: DataType, index: Int) =
    JsonField(JsonColumn(name, dataType, index, index, _ => fail("not plain"), 100, isIso = true))

  /** How many fields of a record are read, whether its end is, and the values. */
  private def read(ddl: String, record: String): (Int, Boolean, Seq[Any]) = {
    val schema = StructType.fromDDL(ddl)
    val fields = new PlainFields(new JsonFactory, null)
    schema.zipWithIndex.foreach { case (f, i) =>
      val field = if (f.name.startsWith("skipped")) null else column(f.name, f.dataType, i)
      fields.found(new FieldName(new SerializedString(f.name), field))
      fields.position += 1
    }
    fields.begin()
    val into = new DecodedValues(schema.fields.map(_.dataType))
    val _ = fields.read(record.getBytes(UTF_8), 0, into)
    (
      fields.position,
      fields.isOver,
      schema.indices.map(into.get(_)).map(v => if (v == null) null else v.toString)
    )
  }

  test("a record of simple values") {
    assert(read(
      "s STRING, skipped INT, b BOOLEAN, t TINYINT, l BIGINT, d DOUBLE, x DOUBLE, day DATE, at TIMESTAMP, n INT",
      """{"s":"é", "skipped": "1", "b":true,"t":-128,"l":123456789012345678,"d":-0.25,"x":0.1234567890123456,""" +
        """"day":"1970-01-02","at":"1970-01-01T00:00:01.5Z","n":null} {"""
    ) == ((
      10,
      true,
      Seq(
        "é",
        null,
        "true",
        "-128",
        "123456789012345678",
        "-0.25",
        "0.1234567890123456",
        "1",
        "1500000",
        null
      )
    )))
  }

  test("it stops at another name, at another kind of value, and where the text is not certainly valid") {
    Seq(
      "{\"a\":1,\"c\":2}" -> 1,
      "{\"a\":1,\"b\":\"2\"}" -> 1,
      "{\"a\":1,\"b\":2147483648}" -> 1,
      "{\"a\":1,\"b\":02}" -> 1,
      "{\"a\":1,\"b\":2.0}" -> 1,
      "{\"a\":1,\"b\":2" -> 1,
      "{\"a\":1 ,\"b\":2}" -> 0,
      "{\"a\":1,\"b\":2,\"c\":3}" -> 2,
      "{ }" -> 0,
      "" -> 0
    ).foreach { case (record, count) =>
      val (found, isOver, _) = read("a INT, b INT", record)
      assert(found == count && !isOver, record)
    }
    assert(read("a INT, b INT", "{\"a\":1}") == ((1, true, Seq("1", null))))
  }

  test("a name of each length is found, and none that differs from it in one byte") {
    for (length <- 1 to 40) {
      val name = ('a' to 'z').mkString * 2 take length
      def found(other: String) = read(s"$name INT", s"""{"$other":7}""") == ((1, true, Seq("7")))
      assert(found(name))
      for (i <- 0 until length) assert(!found(name.updated(i, 'A')), s"$name, byte $i")
    }
  }

  test("a string of each length ends at its quotation mark, and stops the reading at what may be an error") {
    for (length <- 0 to 40; more <- 0 to 9) {
      val (text, rest) = ("é" * (length % 2) + "x" * length, s""","b":"${"y" * more}"}""")
      assert(read("a STRING, b STRING", s"""{"a":"$text"$rest""") == ((2, true, Seq(text, "y" * more))))
      for (i <- 0 until length; other <- Seq('\\', '\n', '\u0000'))
        assert(read("a STRING, b STRING", s"""{"a":"${text.updated(i, other)}"$rest""")._1 == 0)
    }
  }

  test("each day of the years from 1000 to 9999, and no other one") {
    val first = java.time.LocalDate.of(1000, 1, 1).toEpochDay
    val last = java.time.LocalDate.of(9999, 12, 31).toEpochDay
    def read(text: String) = PlainValue.epochDay(text.getBytes(UTF_8), 0)
    for (day <- first to last) {
      val date = java.time.LocalDate.ofEpochDay(day)
      assert(read(date.toString) == day)
      if (date.getDayOfMonth == date.lengthOfMonth)
        assert(read(date.toString.take(8) + (date.getDayOfMonth + 1)) == PlainValue.NoDay)
    }
  }

  test("nothing is read where no object is allowed") {
    val constraints =
      com.fasterxml.jackson.core.StreamReadConstraints.builder().maxNestingDepth(0).build()
    val factory = new JsonFactory
    factory.setStreamReadConstraints(constraints)
    assert(new PlainFields(factory, null).expected == null)
  }
}
