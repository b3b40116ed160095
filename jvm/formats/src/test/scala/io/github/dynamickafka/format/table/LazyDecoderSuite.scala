package io.github.dynamickafka.format.table

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.json.JsonRecords
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, ParseErrors, SideLayout}
import io.github.dynamickafka.testkit.TimeLimit

class LazyDecoderSuite extends AnyFunSuite with TimeLimit {

  private def json(ddl: String, options: (String, String)*) =
    Decoded.side(ddl, options :+ ("format" -> "json"): _*)

  private def record(text: String) = text.getBytes(UTF_8)

  /** Counts the records that each choice of fields has decoded. */
  private final class Counting(side: SideLayout) {
    val values = new DecodedValues(side.types)
    val decoded: mutable.Map[Seq[Int], Int] = mutable.LinkedHashMap.empty[Seq[Int], Int].withDefaultValue(0)
    val decoder = new LazyDecoder(
      side,
      values,
      chosen => {
        val inner = Decoders.of(chosen)
        (bytes, into) => {
          decoded(chosen.wanted) += 1
          inner.decode(bytes, into)
        }
      }
    )

    def access(field: Int): DecodeFailure = if (decoder.has(field)) null else decoder.decode(field)
  }

  test("fields that no record needs are decoded of the first records only") {
    val counting = new Counting(json("a INT, b INT, c INT, d INT"))
    (1 to 1000).foreach { n =>
      counting.decoder.begin(record(s"""{"a": $n, "b": 2, "c": 3, "d": ${n + 1}}"""))
      assert(counting.access(0) == null && counting.access(3) == null)
      assert(counting.values.getLong(0) == n && counting.values.getLong(3) == n + 1)
    }
    assert(counting.decoded == Map(
      Seq(0, 1, 2, 3) -> LazyDecoder.Trial,
      Seq(0, 3) -> (1000 - LazyDecoder.Trial)
    ))
  }

  test("a record of which nothing is accessed is not decoded") {
    val counting = new Counting(json("a INT, b INT"))
    (1 to 100).foreach(_ => counting.decoder.begin(record("no JSON")))
    assert(counting.decoded.isEmpty)
  }

  test("an access to another field later") {
    val counting = new Counting(json("a INT, b INT, c INT"))
    (1 to 200).foreach { n =>
      counting.decoder.begin(record(s"""{"a": $n, "b": ${-n}, "c": 3}"""))
      assert(counting.access(0) == null)
      if (n == 100) assert(counting.access(1) == null && counting.values.getLong(1) == -100)
      assert(counting.values.getLong(0) == n)
    }
    // Record 100 is decoded twice; those after the second trial have both fields.
    assert(counting.decoded == Map(
      Seq(0, 1, 2) -> (LazyDecoder.Trial * 2 + 1),
      Seq(0) -> (100 - LazyDecoder.Trial),
      Seq(0, 1) -> (100 - LazyDecoder.Trial)
    ))
  }

  test("a null value has null fields") {
    val counting = new Counting(json("a INT, b INT"))
    counting.decoder.begin(record("""{"a": 1, "b": 2}"""))
    assert(counting.access(0) == null && !counting.values.isNullAt(0))
    counting.decoder.begin(null)
    assert(counting.access(0) == null && counting.values.isNullAt(0) && counting.values.isNullAt(1))
  }

  test("a field that is not accessed may be bad, in each record of a task") {
    val counting = new Counting(json("a INT, b INT, c INT"))
    (1 to LazyDecoder.Trial * 3).foreach { n =>
      counting.decoder.begin(record(s"""{"a": $n, "b": "x", "c": 3}"""))
      assert(counting.access(0) == null, s"record $n")
      assert(counting.values.getLong(0) == n)
    }
    counting.decoder.begin(record("""{"a": 7, "b": "x", "c": 3}"""))
    assert(counting.access(0) == null)
    assert(counting.access(1).field.contains("b"))
    // Once for each record.
    assert(counting.access(2) == null)
  }

  /** The index of the only column of that type. */
  private val Binary = 12

  /** Jackson skips white space in a BINARY value that is read, and refuses it in a string that is skipped. So does `from_json`. */
  private def isGoodIfRead(bytes: Array[Byte]) =
    """"bin"\s*:\s*"[^"\\]*[\x00-\x1f]""".r.findFirstIn(new String(bytes, UTF_8)).isDefined

  /** The rows must not depend on where a task begins, nor on what other records needed. */
  private def check(options: (String, String)*): Unit = {
    val seed = TestSeed()
    val random = new Random(seed)
    val side = json(JsonRecords.Schema, options: _*)
    val lazily = new Counting(side)
    val exact, beside = new DecodedValues(side.types)
    val converters = side.types.map(CatalystTypeConverters.createToScalaConverter)
    val decoders = mutable.Map.empty[Seq[Int], Decoder]
    var habit = Seq(0, 4)
    JsonRecords.take(3000, seed).zipWithIndex.foreach { case (bytes, n) =>
      if (random.nextInt(200) == 0) habit = random.shuffle(side.wanted).take(random.nextInt(4))
      val fields = if (random.nextInt(50) == 0) random.shuffle(side.wanted).take(3) else habit
      lazily.decoder.begin(bytes)
      val failures = fields.map(lazily.access)
      val where = s"record $n, fields $fields, seed $seed: ${new String(bytes, UTF_8)}"
      if (fields.nonEmpty) {
        val decoder = decoders.getOrElseUpdate(fields.sorted, Decoders.of(side.copy(wanted = fields.sorted)))
        val failure = decoder.decode(bytes, exact)
        def isGoodWithBinary = {
          val all = (fields :+ Binary).sorted
          decoders.getOrElseUpdate(all, Decoders.of(side.copy(wanted = all))).decode(bytes, beside) == null
        }
        if (side.format.parseErrors == ParseErrors.Fail) {
          val isBad = failures.exists(_ != null)
          assert(isBad == (failure != null) || !isBad && isGoodIfRead(bytes) && isGoodWithBinary, where)
        }
        if (failure == null || side.format.parseErrors != ParseErrors.Fail)
          fields.foreach { field =>
            def of(values: DecodedValues) = Decoded.text(converters(field)(values.get(field)))
            assert(of(lazily.values) == of(exact), s"field $field, $where")
          }
      }
    }
  }

  test(
    "random records and accesses: a record is bad if and only if the accessed fields are (seed in the message)"
  ) {
    check()
  }
}
