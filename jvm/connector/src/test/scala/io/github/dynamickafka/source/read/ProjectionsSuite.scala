package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Optional

import scala.util.{Random, Try}

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.format.avro.RandomAvro
import io.github.dynamickafka.format.json.JsonRecords
import io.github.dynamickafka.format.table.Decoded
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/**
 * Every query equals `SELECT *` of the same records, projected afterwards: good, bad and half-bad records, in a batch, which says
 * which columns it reads, and in a stream, which accesses them in its order.
 */
class ProjectionsSuite extends AnyFunSuite with TimeLimit {
  private type Kept = ConsumerRecord[Array[Byte], Array[Byte]]

  /**
   * What a query makes of the records: Left if it fails.
   *
   * @param columns what the error of a bad record may name
   */
  private def select(
      layout: Layout,
      names: Seq[String],
      records: Seq[Kept],
      onAccess: Boolean,
      columns: Seq[String]
  ): Either[String, Seq[Seq[String]]] = {
    val counts = DecodeCounts(new LongAccumulator, new LongAccumulator, new LongAccumulator)
    val of = new TaskDecoder(Decoding(layout, counts, onAccess = onAccess)).rows("blue", "orders")
    val fields = names.map(name => layout.schema(layout.schema.fieldIndex(name)))
    // In this order, as the code that Spark generates does.
    val project = UnsafeProjection.create(fields.map(f =>
      BoundReference(layout.schema.fieldIndex(f.name), f.dataType, f.nullable)
    ))
    val convert = CatalystTypeConverters.createToScalaConverter(StructType(fields))
    def shown(row: org.apache.spark.sql.catalyst.InternalRow) =
      convert(project(row).copy()).asInstanceOf[org.apache.spark.sql.Row].toSeq.map(Decoded.text)
    val found = Try(records.flatMap { record =>
      val first = Option(of.of(record)).map(shown)
      first.toSeq ++ first.toSeq.flatMap(_ => Iterator.continually(of.more()).takeWhile(_ != null).map(shown))
    }).toEither
    // Whatever a record contains, the error is one of the connector.
    found.left.foreach(e => assert(e.isInstanceOf[DynamicKafkaError], e))
    for (row <- found.toSeq.flatten; (name, error) <- names.zip(row) if name == "_decode_error")
      Named.findFirstMatchIn(error).foreach(m => assert(columns.contains(m.group(1)), error))
    found.left.map(_.toString)
  }

  private val Named = "^'(?:key|value), field '([^']+)'".r

  private def check(records: (Random, Long) => Seq[(String, String)])(options: (String, String)*): Unit =
    checkBytes((random, seed) => records(random, seed).map { case (key, value) => utf8(key) -> utf8(value) })(
      options: _*
    )

  private def utf8(text: String) = if (text == null) null else text.getBytes(UTF_8)

  private def checkBytes(make: (Random, Long) => Seq[(Array[Byte], Array[Byte])])(
      options: (String, String)*
  ): Unit = {
    val seed = TestSeed()
    val random = new Random(seed)
    val records = make(random, seed).zipWithIndex.map { case ((key, value), i) =>
      val time = if (random.nextInt(40) == 0) Times(random.nextInt(Times.size)) else random.nextInt().toLong
      new ConsumerRecord(
        "orders",
        0,
        i.toLong,
        time,
        TimestampType.CREATE_TIME,
        0,
        0,
        key,
        value,
        new RecordHeaders,
        Optional.empty[Integer]
      )
    }
    for (policy <- Seq("fail", "null", "keep", "drop")) {
      val layout =
        Options.parse(options :+ ("parseErrors" -> policy): _*).records.format.layout(
          None,
          includeHeaders = false
        )
      val all = layout.schema.fieldNames.toSeq
      val columns = all ++ layout.value.change.toSeq.flatMap(_.payload.fieldNames)
      val special = all.filter(_.startsWith("_"))
      (1 to RandomCases(if (policy == "fail") 3 else 24)).foreach { _ =>
        // Columns that depend on others are in half of the queries.
        val chosen = random.shuffle(special).take(random.nextInt(2))
        val names = random.shuffle(chosen ++ random.shuffle(all.diff(chosen)).take(1 + random.nextInt(3)))
        val some = random.shuffle(records).take(if (policy == "fail") 40 else 80)
        // One by one, so that a record that fails hides no other one.
        val (timed, others) = some.partition(record => Times.contains(record.timestamp))
        val groups = if (policy == "fail") some.map(Seq(_)) else others +: timed.map(Seq(_))
        groups.foreach { group =>
          select(layout, all, group, onAccess = false, columns).foreach { whole =>
            val expected = whole.map(row => names.map(name => row(all.indexOf(name))))
            val where = s"seed $seed, $policy, $names, ${options.toMap.get("format")}"
            assert(
              select(layout.pruned(names), names, group, onAccess = false, columns) == Right(expected),
              where
            )
            assert(
              select(layout, names, group, onAccess = true, columns) == Right(expected),
              s"streaming, $where"
            )
          }
        }
      }
    }
  }

  /** Microseconds of such times are none that a column can have; nanoseconds are such times. */
  private val Times = Seq(Long.MaxValue, Long.MinValue, Long.MaxValue / 1000 + 1, 1764360000000000000L)

  private def json(seed: Long) = JsonRecords.take(400, seed).map(new String(_, UTF_8))

  private val NoKey: String = null

  private def half(random: Random): String =
    Seq(
      "{}",
      "{\"a\": 1}",
      "{\"a\": \"x\", \"b\": \"y\"}",
      "{\"b\": 5, \"c\": \"no\"}",
      "{\"a\": 2, \"s\": {\"x\": \"no\"}, \"l\": [1]}",
      "{\"b\": \"z\", \"s\": {\"x\": 1}, \"l\": [\"no\"]}",
      "nothing",
      "{\"a\": 1, \"c\""
    )(
      random.nextInt(8)
    )

  test("json (seed in the message)") {
    check((_, seed) => json(seed).map(value => NoKey -> value))(
      "format" -> "json",
      "schema" -> JsonRecords.Schema
    )
  }

  test("upserts and keys of json: the kind of a change is the same, too (seed in the message)") {
    def records(random: Random) = Seq.fill(300)((
      if (random.nextInt(9) == 0) null else half(random),
      if (random.nextInt(5) == 0) null else half(random)
    ))
    val keyed =
      Seq("format" -> "json", "keyFormat" -> "json", "keyFields" -> "a", "schema" -> "a INT, b STRING, c INT")
    check((random, _) => records(random))(keyed :+ ("changeData" -> "upsert"): _*)
    check((random, _) => records(random))(keyed :+ ("valueFieldsInclude" -> "EXCEPT_KEY"): _*)
  }

  test("csv (seed in the message)") {
    check((random, _) =>
      Seq.fill(300)(NoKey -> Seq.fill(random.nextInt(5))(Seq(
        "1",
        "x",
        "",
        "\"q\"",
        "2026-01-01"
      )(random.nextInt(5))).mkString(","))
    )("format" -> "csv", "schema" -> "a INT, b STRING, c DATE, d INT")
  }

  test("formats of changes, with metadata (seed in the message)") {
    def changed(random: Random) =
      if (random.nextInt(8) == 0) half(random)
      else
        s"""{"op": "${Seq(
            "c",
            "u",
            "d",
            "x"
          )(random.nextInt(4))}", "before": ${half(random)}, "after": ${half(
            random
          )}, "ts_ms": 5}"""
    for ((mode, schemaInclude) <- Seq("rows" -> false, "rows" -> true, "envelope" -> false))
      check((random, _) =>
        Seq.fill(120)(NoKey -> (if (schemaInclude) s"""{"payload": ${changed(random)}}"""
                                else changed(random)))
      )(
        "format" -> "debezium-json",
        "schema" -> "a INT, b STRING, c INT, s STRUCT<x: INT>, l ARRAY<INT>",
        "debezium-json.schemaInclude" -> schemaInclude.toString,
        "changeData" -> mode
      )
    check((random, _) =>
      Seq.fill(300)(NoKey -> s"""{"type": "${Seq("INSERT", "UPDATE", "DELETE")(random.nextInt(
          3
        ))}", "data": [${half(random)}, ${half(random)}], "old": [${half(random)}, {"b": "z"}]}""")
    )("format" -> "canal-json", "schema" -> "a INT, b STRING, c INT, s STRUCT<x: INT>, l ARRAY<INT>")
  }

  test("avro, of random schemas (seed in the message)") {
    val seed = TestSeed()
    val avro = new RandomAvro(new Random(seed))
    (1 to RandomCases(6)).foreach { _ =>
      val schema = avro.record()
      checkBytes((random, _) =>
        Seq.fill(100) {
          val bytes = RandomAvro.encoded(schema, avro.datum(schema))
          (null, if (random.nextInt(3) == 0) avro.damaged(bytes) else bytes)
        }
      )("format" -> "avro", "schema" -> schema.toString)
    }
  }
}
