package io.github.dynamickafka.format.protobuf

import scala.util.Random

import com.google.protobuf.Descriptors.FileDescriptor
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.table.ParsedFormats.refused
import io.github.dynamickafka.format.table.{Decoded, Decoders}
import io.github.dynamickafka.format.{
  ConfluentHeader,
  DecodeFailure,
  DecodedValues,
  RegistryDecoder,
  SideLayout
}
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

  private def decoder(own: SideLayout, schemas: (Int, RegisteredSchema)*): RegistryDecoder = {
    val made = ConfluentProtobufDecoder(own, (_, id) => schemas.toMap.get(id))
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

  // In a descriptor, the entries of the maps are the nested messages 0 and 2.
  private val nested =
    s"""name: "x.proto" package: "shop" syntax: "proto3" message_type { name: "Shop"
       |  ${field("a", 1, "MESSAGE", """type_name: ".shop.Shop.AEntry" label: LABEL_REPEATED""")}
       |  ${field("b", 2, "MESSAGE", """type_name: ".shop.Shop.BEntry" label: LABEL_REPEATED""")}
       |  nested_type { name: "AEntry" ${field(
        "key",
        1,
        "STRING"
      )} ${field("value", 2, "INT32")} options { map_entry: true } }
       |  nested_type { name: "Order" ${field("id", 1, "INT32")} ${field("name", 2, "STRING")} }
       |  nested_type { name: "BEntry" ${field("key", 1, "STRING")} ${field(
        "value",
        2,
        "INT32"
      )} options { map_entry: true } }
       |  nested_type { name: "Item" ${field("id", 1, "INT32")} ${field("count", 3, "INT32")} }
       |  nested_type { name: "Note" ${field("id", 1, "STRING")} } }""".stripMargin
  private val nestedFile = ProtobufSides.file(nested)
  private val nestedTexts = {
    val (order, item, note) = (
      "message Order { int32 id = 1; string name = 2; }",
      "message Item { int32 id = 1; int32 count = 3; }",
      "message Note { string id = 1; }"
    )
    def entry(name: String) = s"message $name { option map_entry = true; string key = 1; int32 value = 2; }"
    val start = """syntax = "proto3"; package shop; message Shop {"""
    Map(
      // As people write it, and as Confluent's serializer for Java registers generated classes.
      "maps" -> s"$start map<string, int32> a = 1; $order map<string, int32> b = 2; $item $note }",
      "entries" -> s"$start repeated AEntry a = 1; repeated BEntry b = 2; ${entry("AEntry")} $order ${entry("BEntry")} $item $note }"
    )
  }

  private def nestedRecord(index: Int, message: String, text: String): Array[Byte] = {
    val of = nestedFile.findMessageTypeByName("Shop").findNestedTypeByName(message)
    val made = com.google.protobuf.DynamicMessage.newBuilder(of)
    com.google.protobuf.TextFormat.merge(text, made)
    WireFormat.framed(1, Array[Byte](4, 0, (2 * index).toByte) ++ made.build().toByteArray)
  }

  test(
    "the path to a nested message counts the entries of maps, as descriptors do, or not, as .proto files do"
  ) {
    val own = side("id INT, name STRING, count INT")
    def decoded(schema: String, bytes: Array[Byte]) = Decoded.by(decoder(own, 1 -> proto(schema)), own)(bytes)
    val base64 = java.util.Base64.getEncoder.encodeToString(nestedFile.toProto.toByteArray)
    val order = Seq("Integer(7)", "'a'", "null")
    val item = Seq("Integer(7)", "null", "Integer(5)")
    Seq(base64, nestedTexts("entries"), nestedTexts("maps")).foreach { schema =>
      assert(decoded(schema, nestedRecord(1, "Order", "id: 7 name: \"a\"")).columns == order)
      assert(decoded(schema, nestedRecord(3, "Item", "id: 7 count: 5")).columns == item)
    }
    // Where the text has `map`, Confluent's serializer for Java does not count their entries.
    assert(decoded(nestedTexts("maps"), nestedRecord(0, "Order", "id: 7 name: \"a\"")).columns == order)
    assert(decoded(nestedTexts("maps"), nestedRecord(1, "Item", "id: 7 count: 5")).columns == item)
    // What the descriptor has as entries is not a record.
    Seq(base64, nestedTexts("entries")).foreach(schema =>
      assert(decoded(schema, nestedRecord(0, "Order", "id: 7")).bad)
    )
  }

  test("a path that can mean two messages: the one that the bytes fit, else messageName, else a bad record") {
    val own = side("id INT, name STRING, count INT")
    val named =
      (name: String) => side("id INT, name STRING, count INT", "protobuf-confluent.messageName" -> name)
    val schema = 1 -> proto(nestedTexts("maps"))
    val (both, neither) = (nestedRecord(1, "Order", "id: 7"), WireFormat.framed(1, Array[Byte](4, 0, 2, 8)))
    val reason = "its path can mean 'shop.Shop.Order' or 'shop.Shop.Item'"
    val one = decoder(own, schema)
    val decode = Decoded.by(one, own)
    (1 to 2).foreach { _ =>
      assert(one.decode(both, new DecodedValues(own.types)).reason.startsWith(reason))
      assert(one.decode(neither, new DecodedValues(own.types)).reason.startsWith(reason))
      assert(!decode(nestedRecord(1, "Item", "id: 7 count: 5")).bad)
    }
    Seq("shop.Shop.Order", "Item").foreach { name =>
      assert(Decoded.by(decoder(named(name), schema), own)(both).columns.head == "Integer(7)")
    }
    val other = failure(named("Order"), nestedRecord(1, "Item", "id: 7 count: 5"), schema)
    assert(other.reason == "it is a message 'shop.Shop.Item', not 'Order'")
    assert(failure(named("Note"), both, schema).reason.startsWith(reason))
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
    val made = ConfluentProtobufDecoder(own, (cluster, _) => Some(if (cluster == "blue") v1 else renamed))
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
