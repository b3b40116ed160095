package io.github.dynamickafka.format.decode

import scala.util.Random

import com.google.protobuf.Descriptors.FileDescriptor
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.format.SideLayout
import io.github.dynamickafka.schemaregistry.{NamedSchema, RegisteredSchema, WireFormat}
import io.github.dynamickafka.testkit.TimeLimit

class ConfluentProtobufDecoderSuite extends AnyFunSuite with TimeLimit {

  private def side(schema: String, options: (String, String)*): SideLayout = Decoded.side(
    schema,
    Seq("format" -> "protobuf-confluent", "registry.url" -> "http://localhost:1") ++ options: _*
  )
  private def proto(text: String, references: NamedSchema*) = RegisteredSchema("PROTOBUF", text, references)

  private val v1 = proto(
    """syntax = "proto3"; package shop;
      |message Order { int32 id = 1; string name = 2; string old = 3; }
      |message Other { string x = 1; message Deep { bool yes = 1; } message Second { int64 n = 1; } }""".stripMargin
  )
  private val v2 = proto(
    """syntax = "proto3"; package shop; import "items.proto";
      |message Order { int32 id = 1; string name = 2; repeated Item items = 4; string country = 5; }""".stripMargin,
    NamedSchema("items.proto", """syntax = "proto3"; package shop; message Item { string sku = 1; }""")
  )

  private def file(fields: String, more: String = ""): FileDescriptor = ProtobufSides.file(
    s"""name: "x.proto" syntax: "proto3" message_type { name: "M" $fields } $more"""
  )
  private def field(name: String, number: Int, of: String, more: String = "label: LABEL_OPTIONAL") =
    s"""field { name: "$name" number: $number type: TYPE_$of $more }"""
  private val written1 =
    file(field("id", 1, "INT32") + field("name", 2, "STRING") + field("old", 3, "STRING"))
  private val written2 = file(
    field("id", 1, "INT32") + field("items", 4, "MESSAGE", """label: LABEL_REPEATED type_name: ".Item" """) +
      field("country", 5, "STRING"),
    s"""message_type { name: "Item" ${field("sku", 1, "STRING")} }"""
  )

  /** @param indexes as on the wire */
  private def record(id: Int, indexes: Seq[Int], of: FileDescriptor, text: String): Array[Byte] =
    WireFormat.framed(id, indexes.map(_.toByte).toArray ++ ProtobufSides.message(of, "M", text).toByteArray)

  private def decoder(own: SideLayout, schemas: (Int, RegisteredSchema)*): ConfluentProtobufDecoder = {
    val made = new ConfluentProtobufDecoder(own, (_, id) => schemas.toMap.get(id))
    made.from("blue")
    made
  }

  private def failure(own: SideLayout, bytes: Array[Byte], schemas: (Int, RegisteredSchema)*): DecodeFailure =
    decoder(own, schemas: _*).decode(bytes, new DecodedValues(own.types))

  test("fields by name, each record by its own schema, with imports of the registry") {
    val own = side("id INT, name STRING, items ARRAY<STRUCT<sku: STRING>>, country STRING")
    val decode = Decoded.by(decoder(own, 1 -> v1, 2 -> v2), own)
    (1 to 2).foreach { _ =>
      assert(decode(record(1, Seq(0), written1, """id: 7 name: "a" old: "x"""")).columns ==
        Seq("Integer(7)", "'a'", "null", "null"))
      assert(decode(record(2, Seq(0), written2, """id: 8 items { sku: "s" } country: "de"""")).columns ==
        Seq("Integer(8)", "null", "[{'s'}]", "'de'"))
    }
  }

  test("the message by its indexes: 0 for the first one, a path for others") {
    val own = side("yes BOOLEAN, n BIGINT, x STRING")
    val decode = Decoded.by(decoder(own, 1 -> v1), own)
    val second = file(field("n", 1, "INT64"))
    // Zig-zag: 2 indexes, 1 and 0; 2 indexes, 1 and 1; 1 index, 1.
    assert(decode(record(
      1,
      Seq(4, 2, 0),
      file(field("yes", 1, "BOOL")),
      "yes: true"
    )).columns.head == "Boolean(true)")
    assert(decode(record(1, Seq(4, 2, 2), second, "n: 5")).columns(1) == "Long(5)")
    assert(decode(record(1, Seq(2, 2), file(field("x", 1, "STRING")), "x: \"a\"")).columns(2) == "'a'")
    // The first one, with a list.
    assert(!decode(record(1, Seq(2, 0), written1, "id: 1")).bad)
    Seq(Seq(2, 8), Seq(1), Seq(2, 1), Seq(-1, -1, -1, 127), Nil).foreach(path =>
      assert(failure(own, record(1, path, written1, ""), 1 -> v1).schemaId.contains(1), path)
    )
  }

  test("messageName: other messages are bad records") {
    val own = side("id INT", "protobuf-confluent.messageName" -> "shop.Order")
    assert(Decoded.by(
      decoder(own, 1 -> v1),
      own
    )(record(1, Seq(0), written1, "id: 3")).columns == Seq("Integer(3)"))
    val other = failure(own, record(1, Seq(2, 2), written1, ""), 1 -> v1)
    assert(other.reason == "it is a message 'shop.Other', not 'shop.Order'")
  }

  test("unknown ids, no header, schemas of another type, and fields that cannot have the type") {
    val own = side("id INT")
    assert(failure(own, Array[Byte](1, 2)) == ConfluentHeader.Missing)
    assert(failure(
      own,
      record(9, Seq(0), written1, "id: 1"),
      1 -> v1
    ).reason.contains("does not know the id"))
    assert(failure(
      own,
      record(1, Seq(0), written1, ""),
      1 -> RegisteredSchema("AVRO", "\"int\"")
    ).reason.contains(
      "of the type AVRO"
    ))
    assert(failure(
      own,
      record(1, Seq(0), written1, ""),
      1 -> proto("message {")
    ).reason.contains("cannot be parsed"))
    val text = side("name BIGINT")
    assert(failure(text, record(1, Seq(0), written1, ""), 1 -> v1).field.isEmpty)
    assert(failure(text, record(1, Seq(0), written1, ""), 1 -> v1).reason.contains("cannot be BIGINT"))
    val e = refused(Decoders.check(side("id SMALLINT")))
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA" && e.getMessage.contains("SMALLINT"))
  }

  test("the ids of another cluster mean other schemas") {
    val own = side("id INT, name STRING")
    val renamed = proto("""syntax = "proto3"; message Order { int32 id = 2; }""")
    val made = new ConfluentProtobufDecoder(own, (cluster, _) => Some(if (cluster == "blue") v1 else renamed))
    val decode = Decoded.by(made, own)
    (1 to 2).foreach { _ =>
      made.from("blue")
      assert(decode(record(1, Seq(0), written1, "id: 7 name: \"a\"")).columns == Seq("Integer(7)", "'a'"))
      made.from("green")
      assert(decode(record(1, Seq(0), file(field("id", 2, "INT32")), "id: 8")).columns == Seq(
        "Integer(8)",
        "null"
      ))
    }
  }

  test("bytes that are not what was written never end in another error") {
    val random = new Random(TestSeed())
    val own = side("id INT, name STRING, n BIGINT")
    val decode = Decoded.by(decoder(own, 1 -> v1), own)
    var bad = 0
    (1 to 20000).foreach { _ =>
      if (decode(WireFormat.framed(1, random.nextBytes(random.nextInt(30)))).bad) bad += 1
    }
    assert(bad > 1000)
  }
}
