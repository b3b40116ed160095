package io.github.dynamickafka.source.read

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.schemaregistry.RegistryServer
import io.github.dynamickafka.testkit.TimeLimit

/** Random changes, written as each tool writes them, are read as the rows that they consist of. */
class ChangePropertySuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  import ChangePropertySuite._

  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 60)

  private val read = new ReadRecords

  private def check(format: String, options: (String, String)*)(write: Change => String) = {
    val all = Seq("format" -> format, "schema" -> Schema, "metadataColumns" -> "") ++ options
    val layout = read.layout(all: _*)
    forAll(changes) { changes =>
      val records = changes.flatMap(change => Seq(write(change), null))
      assert(read.rows(layout)(records: _*) == changes.flatMap(_.rows))
      // Whichever columns are read, the rows are the same.
      val kinds = read.rows(layout.pruned(Seq("_change_type", "b")))(records: _*)
      assert(kinds == changes.flatMap(_.rows).map(row => Seq(row(Names.length), row(2))))
    }
  }

  test("debezium-json")(check("debezium-json")(debezium))

  test("debezium-json with schema")(check("debezium-json", "debezium-json.schemaInclude" -> "true")(c =>
    s"""{"schema": {"fields": [{"before": 1}]}, "payload": ${debezium(c)}}"""
  ))

  test("debezium-avro-confluent") {
    RegistryServer.serving { registry =>
      val id = registry.register("customers-value", DebeziumRecords.Envelope.format(AvroFields))
      val options =
        Seq("format" -> "debezium-avro-confluent", "registry.url" -> registry.url, "metadataColumns" -> "")
      val layout = read.layout(options :+ ("schema" -> Schema): _*)
      def write(c: Change) = {
        val op = c match {
          case _: Insert => "c"
          case _: Update => "u"
          case _: Delete => "d"
        }
        DebeziumRecords.written(id, DebeziumRecords.Envelope.format(AvroFields), op, c.before, c.after)
      }
      forAll(changes) { changes =>
        val records = changes.flatMap(change => Seq(write(change), null))
        def of(layout: Layout) =
          read.of(new TaskDecoder(Decoding(layout, read.counts)), "blue", layout)(records: _*)
        assert(of(layout) == changes.flatMap(_.rows))
        assert(of(layout.pruned(Seq("_change_type", "b"))) ==
          changes.flatMap(_.rows).map(row => Seq(row(Names.length), row(2))))
      }
    }
  }

  test("ogg-json")(check("ogg-json") { c =>
    val op = c match {
      case _: Insert => "I"
      case _: Update => "U"
      case _: Delete => "D"
    }
    write(_.put("op_type", op), "before" -> c.before, "after" -> c.after)
  })

  test("maxwell-json")(check("maxwell-json") {
    case Update(before, after) =>
      val node = mapper.createObjectNode().put("type", "update")
      node.set[ObjectNode]("data", json(after))
      node.set[ObjectNode]("old", changed(before, after, texts = false))
      node.toString
    case c => write(
        _.put("type", if (c.after.isEmpty) "delete" else "insert"),
        "data" -> c.after.orElse(c.before)
      )
  })

  test("canal-json") {
    // Each record has the rows of up to three changes of one kind.
    val grouped = Gen.listOf(Gen.choose(1, 3).flatMap(n =>
      Gen.oneOf(Gen.listOfN(n, insert), Gen.listOfN(n, update), Gen.listOfN(n, delete))
    ))
    val layout = read.layout("format" -> "canal-json", "schema" -> Schema, "metadataColumns" -> "")
    forAll(grouped) { groups =>
      assert(read.rows(layout)(groups.map(canal): _*) == groups.flatten.flatMap(_.rows))
    }
  }

  private def debezium(c: Change) = {
    val op = c match {
      case _: Insert => "c"
      case _: Update => "u"
      case _: Delete => "d"
    }
    write(_.put("op", op).put("ts_ms", 5L), "before" -> c.before, "after" -> c.after)
  }

  private def canal(changes: Seq[Change]): String = {
    val node = mapper.createObjectNode()
    val data = node.putArray("data")
    changes.foreach(c => data.add(json(c.after.orElse(c.before).get, texts = true)))
    changes.head match {
      case _: Insert => node.put("type", "INSERT").putNull("old")
      case _: Delete => node.put("type", "DELETE").putNull("old")
      case _: Update =>
        val old = node.put("type", "UPDATE").putArray("old")
        changes.foreach(c => old.add(changed(c.before.get, c.after.get, texts = true)))
    }
    node.toString
  }
}

object ChangePropertySuite {
  private val Schema = "id BIGINT, a STRING, b INT, c DOUBLE, d BOOLEAN"
  private val Names = Seq("id", "a", "b", "c", "d")
  private val AvroFields = Seq("long", "string", "int", "double", "boolean").zip(Names).map {
    case (t, name) =>
      s"""{"name":"$name","type":["null","$t"],"default":null}"""
  }.mkString(",")
  private val mapper = new ObjectMapper()

  type Values = Seq[Any]

  sealed trait Change {
    def before: Option[Values]
    def after: Option[Values]
    def rows: Seq[Values]
  }
  final case class Insert(row: Values) extends Change {
    override def before: Option[Values] = None
    override def after: Option[Values] = Some(row)
    override def rows: Seq[Values] = Seq(row :+ "insert")
  }
  final case class Update(from: Values, to: Values) extends Change {
    override def before: Option[Values] = Some(from)
    override def after: Option[Values] = Some(to)
    override def rows: Seq[Values] = Seq(from :+ "update_preimage", to :+ "update_postimage")
  }
  final case class Delete(row: Values) extends Change {
    override def before: Option[Values] = Some(row)
    override def after: Option[Values] = None
    override def rows: Seq[Values] = Seq(row :+ "delete")
  }

  private def nullable(values: Gen[Any]): Gen[Any] = Gen.frequency(1 -> Gen.const(null), 3 -> values)
  private val values: Gen[Values] = for {
    id <- Gen.long
    a <- nullable(Gen.oneOf("", "x", "é\"\\", "5", "old"))
    b <- nullable(Gen.oneOf(0, -1, Int.MaxValue))
    c <- nullable(Gen.oneOf(0.5, -1e300, 3.0))
    d <- nullable(Gen.oneOf(true, false))
  } yield Seq(id, a, b, c, d)

  /** Some fields of another row. */
  private val similar: Gen[(Values, Values)] = for {
    from <- values
    to <- values
    which <- Gen.listOfN(Names.length, Gen.oneOf(true, false))
  } yield (from, from.zip(to).zip(which).map { case ((f, t), w) => if (w) t else f })

  val insert: Gen[Change] = values.map(Insert(_))
  val update: Gen[Change] = similar.map { case (from, to) => Update(from, to) }
  val delete: Gen[Change] = values.map(Delete(_))
  val changes: Gen[Seq[Change]] = Gen.listOf(Gen.oneOf(insert, update, delete))

  private def json(row: Values, texts: Boolean = false): ObjectNode = put(Names.zip(row), texts)

  /** What an update has changed, with the values before. */
  private def changed(before: Values, after: Values, texts: Boolean): ObjectNode =
    put(Names.zip(before).zip(after).collect { case ((name, old), now) if old != now => name -> old }, texts)

  private def put(fields: Seq[(String, Any)], texts: Boolean): ObjectNode = {
    val node = mapper.createObjectNode()
    fields.foreach {
      case (name, null) => node.putNull(name)
      case (name, value) if texts => node.put(name, value.toString)
      case (name, value) =>
        node.set[ObjectNode](name, mapper.valueToTree[JsonNode](value.asInstanceOf[AnyRef]))
    }
    node
  }

  private def write(more: ObjectNode => ObjectNode, rows: (String, Option[Values])*): String = {
    val node = more(mapper.createObjectNode())
    rows.foreach {
      case (name, Some(row)) => node.set[ObjectNode](name, json(row))
      case (name, None) => node.putNull(name)
    }
    node.toString
  }
}
