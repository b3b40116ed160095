package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.{Random, Try}

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.Options
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

  /** What a query makes of the records: Left if it fails. */
  private def select(layout: Layout, names: Seq[String], records: Seq[Kept], onAccess: Boolean)
      : Either[String, Seq[Seq[String]]] = {
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
    Try(records.flatMap { record =>
      val first = Option(of.of(record)).map(shown)
      first.toSeq ++ first.toSeq.flatMap(_ => Iterator.continually(of.more()).takeWhile(_ != null).map(shown))
    }).toEither.left.map(_.toString)
  }

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
      new ConsumerRecord("orders", 0, i.toLong, key, value)
    }
    for (policy <- Seq("fail", "null", "keep", "drop")) {
      val layout =
        Options.parse(options :+ ("parseErrors" -> policy): _*).format.layout(None, includeHeaders = false)
      val all = layout.schema.fieldNames.toSeq
      (1 to RandomCases(9)).foreach { _ =>
        val names = random.shuffle(all).take(1 + random.nextInt(4))
        val some = random.shuffle(records).take(120)
        // One by one, so that a record that fails hides no other one.
        val groups = if (policy == "fail") some.map(Seq(_)) else Seq(some)
        groups.foreach { group =>
          select(layout, all, group, onAccess = false).foreach { whole =>
            val expected = whole.map(row => names.map(name => row(all.indexOf(name))))
            val where = s"seed $seed, $policy, $names, ${options.toMap.get("format")}"
            assert(select(layout.pruned(names), names, group, onAccess = false) == Right(expected), where)
            assert(select(layout, names, group, onAccess = true) == Right(expected), s"streaming, $where")
          }
        }
      }
    }
  }

  private def json(seed: Long) = JsonRecords.take(400, seed).map(new String(_, UTF_8))

  private val NoKey: String = null

  private def half(random: Random): String =
    Seq(
      "{}",
      "{\"a\": 1}",
      "{\"a\": \"x\", \"b\": \"y\"}",
      "{\"b\": 5, \"c\": \"no\"}",
      "nothing",
      "{\"a\": 1, \"c\""
    )(
      random.nextInt(6)
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
    Seq("rows", "envelope").foreach(mode =>
      check((random, _) => Seq.fill(300)(NoKey -> changed(random)))(
        "format" -> "debezium-json",
        "schema" -> "a INT, b STRING, c INT",
        "changeData" -> mode
      )
    )
    check((random, _) =>
      Seq.fill(300)(NoKey -> s"""{"type": "${Seq("INSERT", "UPDATE", "DELETE")(random.nextInt(
          3
        ))}", "data": [${half(random)}, ${half(random)}], "old": [${half(random)}, {"b": "z"}]}""")
    )("format" -> "canal-json", "schema" -> "a INT, b STRING, c INT")
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
