package io.github.dynamickafka.format.protobuf

import scala.jdk.CollectionConverters._
import scala.util.{Random, Try}

import com.google.protobuf.Descriptors.Descriptor
import com.google.protobuf.Descriptors.FieldDescriptor.JavaType
import com.google.protobuf.{DurationProto, TimestampProto, WrappersProto}
import org.apache.spark.sql.Row
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.DecodedValues
import io.github.dynamickafka.format.table.ParsedFormats.refused
import io.github.dynamickafka.format.table.{Decoded, Decoders}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

class ProtobufDecoderSuite extends AnyFunSuite with TimeLimit {
  import ProtobufSides._

  private def field(name: String, number: Int, of: String, more: String = "label: LABEL_OPTIONAL") =
    s"""field { name: "$name" number: $number type: TYPE_${of.toUpperCase} $more }"""
  private def typed(
      name: String,
      number: Int,
      of: String,
      typeName: String,
      more: String = "label: LABEL_OPTIONAL"
  ) =
    field(name, number, of, s"""type_name: "$typeName" $more""")
  private val repeated = "label: LABEL_REPEATED"

  private val orders = file(
    s"""name: "orders.proto" package: "shop" syntax: "proto3"
       |message_type { name: "Order"
       |  ${field("id", 1, "int64")} ${field("name", 2, "string")} ${typed("kind", 3, "enum", ".shop.Kind")}
       |  ${field("tags", 4, "string", repeated)} ${field("numbers", 5, "sint32", repeated)}
       |  ${typed("at", 6, "message", ".google.protobuf.Timestamp")}
       |  ${typed("took", 7, "message", ".google.protobuf.Duration")}
       |  ${typed("note", 8, "message", ".google.protobuf.StringValue")}
       |  ${typed(
        "item",
        9,
        "message",
        ".shop.Item"
      )} ${typed("items", 10, "message", ".shop.Item", repeated)}
       |  ${typed("counts", 11, "message", ".shop.Order.CountsEntry", repeated)}
       |  ${field("big", 12, "uint64")} ${field("small", 13, "uint32")} ${field("raw", 14, "bytes")}
       |  ${field("maybe", 15, "int32", "label: LABEL_OPTIONAL proto3_optional: true oneof_index: 1")}
       |  ${field("card", 16, "string", "label: LABEL_OPTIONAL oneof_index: 0")}
       |  ${typed("cash", 17, "message", ".shop.Item", "label: LABEL_OPTIONAL oneof_index: 0")}
       |  oneof_decl { name: "payment" } oneof_decl { name: "_maybe" }
       |  nested_type { name: "CountsEntry" options { map_entry: true }
       |    ${field("key", 1, "string")} ${field("value", 2, "int32")} } }
       |message_type { name: "Item" ${field("sku", 1, "string")} ${field("price", 2, "double")} }
       |enum_type { name: "Kind" value { name: "NONE" number: 0 } value { name: "NEW" number: 1 } }""".stripMargin,
    TimestampProto.getDescriptor,
    DurationProto.getDescriptor,
    WrappersProto.getDescriptor
  )
  private val described =
    set(TimestampProto.getDescriptor, DurationProto.getDescriptor, WrappersProto.getDescriptor, orders)
  private val full =
    """id: 7 name: "a" kind: NEW tags: "x" tags: "y" numbers: -1 numbers: 300 at { seconds: 1 nanos: 500000999 }
      |took { seconds: -2 } note { value: "hi" } item { sku: "s" price: 0.5 } items { sku: "t" } items {}
      |counts { key: "k" value: 5 } big: 18446744073709551615 small: 4294967295 raw: "\377" maybe: 0
      |cash { sku: "c" }""".stripMargin

  private def order(schema: String, options: (String, String)*) =
    side(described, "shop.Order", schema, options: _*)
  private def written(text: String): Array[Byte] = message(orders, "Order", text).toByteArray

  private def decoded(schema: String, bytes: Array[Byte], options: (String, String)*): Decoded = {
    val own = order(schema, options: _*)
    Decoded.by(Protobuf.decoder(own), own)(bytes)
  }

  test("the columns of a message, and all kinds of fields") {
    val own = order("")
    assert(
      own.schema.toDDL == "id BIGINT,name STRING,kind STRING,tags ARRAY<STRING>,numbers ARRAY<INT>,at TIMESTAMP," +
        "took INTERVAL DAY TO SECOND,note STRUCT<value: STRING>,item STRUCT<sku: STRING, price: DOUBLE>," +
        "items ARRAY<STRUCT<sku: STRING, price: DOUBLE>>,counts MAP<STRING, INT>,big BIGINT,small INT,raw BINARY," +
        "maybe INT,card STRING,cash STRUCT<sku: STRING, price: DOUBLE>"
    )
    val decode = Decoded.by(Protobuf.decoder(own), own)
    val half = "3fe0000000000000d(0.5)"
    (1 to 2).foreach { _ =>
      assert(decode(written(full)).columns == Seq(
        "Long(7)",
        "'a'",
        "'NEW'",
        "['x','y']",
        "[Integer(-1),Integer(300)]",
        "Timestamp(1970-01-01 00:00:01.5)",
        "Duration(PT-2S)",
        "{'hi'}",
        s"{'s',$half}",
        "[{'t',null},{null,null}]",
        "<'k'->Integer(5)>",
        "Long(-1)",
        "Integer(-1)",
        "0xff",
        "Integer(0)",
        "null",
        "{'c',null}"
      ))
      // Of fields without presence, the default is not in a record.
      assert(decode(Array.emptyByteArray).columns == Seq(
        Seq.fill(3)("null"),
        Seq("[]", "[]"),
        Seq.fill(4)("null"),
        Seq("[]", "<>"),
        Seq.fill(6)("null")
      ).flatten)
    }
  }

  test("defaults, enums and wrappers by Spark's options") {
    val empty = decoded("", Array.emptyByteArray, "protobuf.emit.default.values" -> "true").columns
    assert(empty.take(3) == Seq("Long(0)", "''", "'NONE'") && empty.slice(11, 15) == Seq(
      "Long(0)",
      "Integer(0)",
      "0x",
      "null"
    ))
    assert(decoded("", Array.emptyByteArray, "protobuf.read-default-values" -> "true").columns == empty)
    val typesOf = (options: Seq[(String, String)]) => order("", options: _*).schema
    assert(typesOf(Seq("protobuf.enums.as.ints" -> "true"))("kind").dataType.sql == "INT")
    val wide = Seq("protobuf.upcast.unsigned.ints" -> "true")
    assert(Seq("big", "small").map(typesOf(wide)(_).dataType.sql) == Seq("DECIMAL(20,0)", "BIGINT"))
    assert(decoded("", written(full), wide: _*).columns.slice(11, 13) == Seq(
      "BigDecimal(18446744073709551615)",
      "Long(4294967295)"
    ))
    val unwrapped = Seq("protobuf.unwrap.primitive.wrapper.types" -> "true")
    assert(typesOf(unwrapped)("note").dataType.sql == "STRING")
    assert(decoded("", written(full), unwrapped: _*).columns(7) == "'hi'")
    assert(decoded("", written("note {}"), unwrapped: _*).columns(7) == "''")
  }

  test("a default that is in a record of a field without presence counts as absent, but not -0.0") {
    // 8: the field 1 with a number.
    assert(decoded("id BIGINT", Array[Byte](8, 0)).columns == Seq("null"))
    assert(decoded("id BIGINT", Array[Byte](8, 5, 8, 0)).columns == Seq("null"))
    assert(decoded("name STRING", Array[Byte](18, 0)).columns == Seq("null"))
    assert(decoded("maybe INT", Array[Byte](120, 0)).columns == Seq("Integer(0)"))
    val prices = "item STRUCT<price: DOUBLE>"
    assert(decoded(prices, written("item { price: -0.0 }")).columns == Seq("{8000000000000000d(-0.0)}"))
  }

  test("a schema names some of the fields, also inside messages, and their types") {
    val ddl =
      "note STRING, item STRUCT<price: DOUBLE>, kind INT, small BIGINT, items ARRAY<STRUCT<sku: STRING>>"
    assert(decoded(ddl, written(full)).columns == Seq(
      "'hi'",
      "{3fe0000000000000d(0.5)}",
      "Integer(1)",
      "Long(4294967295)",
      "[{'t'},{null}]"
    ))
    val own = order("")
    val one = own.copy(wanted = Seq(1))
    assert(Decoded.by(Protobuf.decoder(one), one)(written(full)).columns == Seq("'a'"))
    Seq(
      "nothing INT" -> "has no field 'nothing'",
      "name INT" -> "cannot be INT",
      "tags STRING" -> "repeated string"
    )
      .foreach { case (wrong, text) =>
        val e = refused(Decoders.check(order(wrong)))
        assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA" && e.getMessage.contains(text), e.getMessage)
      }
  }

  test("of a oneof the last one counts, also if only another one is wanted; a message is merged") {
    val both = written("card: \"1\"") ++ written("cash { sku: \"c\" }")
    assert(decoded("card STRING", both).columns == Seq("null"))
    assert(decoded("card STRING", both ++ written("card: \"2\"")).columns == Seq("'2'"))
    assert(decoded("cash STRUCT<sku: STRING>", both ++ written("card: \"2\"")).columns == Seq("null"))
    val merged = written("item { sku: \"s\" }") ++ written("item { price: 0.5 }")
    assert(decoded(
      "item STRUCT<sku: STRING, price: DOUBLE>",
      merged
    ).columns == Seq("{'s',3fe0000000000000d(0.5)}"))
    val seconds = written("at { seconds: 1 }") ++ written("at { nanos: 500000000 }")
    assert(decoded("at TIMESTAMP", seconds).columns == Seq("Timestamp(1970-01-01 00:00:01.5)"))
  }

  test("enum numbers without a name, and entries of maps") {
    // 24: the field 3 with a number.
    assert(decoded("kind STRING", Array[Byte](24, 9)).columns == Seq("'UNKNOWN_ENUM_VALUE_Kind_9'"))
    val twice = written("counts { key: \"k\" value: 5 }") ++ written("counts { key: \"k\" value: 6 }")
    assert(decoded("counts MAP<STRING, INT>", twice).columns == Seq("<'k'->Integer(6)>"))
    // 90: the field 11, here with an entry that is empty.
    assert(decoded("counts MAP<STRING, INT>", Array[Byte](90, 0)).columns == Seq("<''->Integer(0)>"))
  }

  test("syntax 2: defaults, required fields, groups, closed enums") {
    val old = file(
      s"""name: "old.proto" syntax: "proto2"
         |message_type { name: "Old"
         |  ${field("id", 1, "int32", "label: LABEL_REQUIRED")}
         |  ${field("size", 2, "int32", """label: LABEL_OPTIONAL default_value: "5" """)}
         |  ${typed("kind", 3, "enum", ".Kind")} ${typed("part", 4, "group", ".Old.Part", repeated)}
         |  ${field("raw", 5, "bytes", """label: LABEL_OPTIONAL default_value: "\\001a" """)}
         |  nested_type { name: "Part" ${field("x", 1, "fixed32")} } }
         |enum_type { name: "Kind" value { name: "A" number: 1 } value { name: "B" number: 2 } }""".stripMargin
    )
    val own = side(set(old), "Old", "")
    val decode = Decoded.by(Protobuf.decoder(own), own)
    assert(own.schema.toDDL == "id INT,size INT,kind STRING,part ARRAY<STRUCT<x: INT>>,raw BINARY")
    val bytes = message(old, "Old", "id: 0 kind: B Part { x: 3 } Part { }").toByteArray
    assert(decode(bytes).columns == Seq("Integer(0)", "Integer(5)", "'B'", "[{Integer(3)},{null}]", "0x0161"))
    assert(decode(bytes ++ Array[Byte](24, 9)).columns(2) == "'B'")
    val failure = Protobuf.decoder(own).decode(
      message(old, "Old", "size: 1").toByteArray,
      new DecodedValues(own.types)
    )
    assert(failure.field.contains("id") && failure.reason == "the required field 'id' is missing")
  }

  test("a message that contains itself is refused, or limited") {
    val tree = file(
      s"""name: "tree.proto" syntax: "proto3" message_type { name: "Tree" ${field("name", 1, "string")}
         |  ${typed("left", 2, "message", ".Tree")} }""".stripMargin
    )
    assert(intercept[IllegalArgumentException](side(set(tree), "Tree", "")).getMessage.contains(
      "recursive.fields.max.depth"
    ))
    def of(depth: Int) =
      side(set(tree), "Tree", "", "protobuf.recursive.fields.max.depth" -> depth.toString).schema.toDDL
    assert(of(1) == "name STRING")
    assert(of(2) == "name STRING,left STRUCT<name: STRING>")
    assert(of(3) == "name STRING,left STRUCT<name: STRING, left: STRUCT<name: STRING>>")
    val deep = message(tree, "Tree", "name: \"a\" left { name: \"b\" left { name: \"c\" } }").toByteArray
    val own = side(set(tree), "Tree", "name STRING, left STRUCT<name: STRING>")
    assert(Decoded.by(Protobuf.decoder(own), own)(deep).columns == Seq("'a'", "{'b'}"))
  }

  test("records that are cut, of another type, or not UTF-8 are bad records") {
    val own = order("")
    val decode = Decoded.by(Protobuf.decoder(own), own)
    val good = written(full)
    assert(!decode(good).bad)
    assert(decode(good.dropRight(1)).bad)
    assert(decode(Array.fill(20)(-1.toByte)).bad)
    // The field 1 as a text, the field 2 with bytes that are not UTF-8, a field 0, a time out of range.
    val wrong = Protobuf.decoder(own).decode(Array[Byte](10, 1, 65), new DecodedValues(own.types))
    assert(wrong.field.contains("id") && wrong.reason.contains("another type"))
    assert(decode(Array[Byte](18, 1, -1)).bad)
    assert(decode(Array[Byte](0, 1)).bad)
    assert(decode(written("at { seconds: 9223372036854775807 }")).bad)
    // A number of 64 bits, and one of more.
    val nine = Array[Byte](8) ++ Array.fill(9)(-1.toByte)
    assert(!decode(nine :+ 1.toByte).bad)
    Seq(0, 2, 0x50).foreach(last => assert(decode(nine :+ last.toByte).bad, last))
    // A length that is larger than the record.
    assert(decode(Array[Byte](18, -1, -1, -1, -1, 7)).bad)
    assert(!decode(good).bad)
  }

  test("bytes that are not what a message was written as never end in another error") {
    val random = new Random(TestSeed())
    val own = order("")
    val decode = Decoded.by(Protobuf.decoder(own), own)
    val good = written(full)
    var bad = 0
    (1 to 20000).foreach { i =>
      val bytes = if (i % 2 == 0) {
        val copy = good.clone()
        (0 to random.nextInt(3)).foreach(_ => copy(random.nextInt(copy.length)) = random.nextInt().toByte)
        copy.take(random.nextInt(copy.length + 1))
      } else random.nextBytes(random.nextInt(60))
      if (decode(bytes).bad) bad += 1
    }
    assert(bad > 1000)
    assert(!decode(good).bad)
  }

  test("random messages are what Java's library and the rules of from_protobuf make of them") {
    val random = new Random(TestSeed())
    (1 to 200).foreach { _ =>
      val made = new RandomProtobuf(random)
      Seq(false, true).foreach { defaults =>
        val own = side(made.set, "Main", "", "protobuf.emit.default.values" -> defaults.toString)
        val java = new JavaProtobuf(made.file.findMessageTypeByName("Main"), defaults)
        val decode = Decoded.by(Protobuf.decoder(own), own)
        (1 to 5).foreach { _ =>
          val bytes = made.message().toByteArray
          val expected = Decoded.of(Row.fromSeq(java.row(bytes).toSeq :+ null), own.schema)
          assert(decode(bytes) == expected, made.file.toProto)
        }
      }
    }
  }

  /** Whether a map has values of an enum of syntax 2, of which Java's library has the default for a number without a name. */
  private def hasClosedEnums(of: Descriptor): Boolean = of.getFields.asScala.exists(f =>
    f.isMapField && Option(f.getMessageType.findFieldByNumber(2)).exists(v =>
      v.getJavaType == JavaType.ENUM && v.getEnumType.isClosed
    )
  ) || of.getNestedTypes.asScala.exists(hasClosedEnums)

  /** Whether there is a number of more than 64 bits, of which Java's library ignores the rest. */
  private def hasLongVarint(bytes: Array[Byte]) =
    bytes.iterator.sliding(10).exists(w => w.init.forall(_ < 0) && w.last != 1)

  test("damaged messages between good ones: what Java's library reads, or bad records") {
    val random = new Random(TestSeed())
    var (same, bad, otherTypes) = (0, 0, 0)
    val files = Iterator.continually(new RandomProtobuf(random))
      .filterNot(_.file.getMessageTypes.asScala.exists(hasClosedEnums))
    files.take(RandomCases(200)).foreach { made =>
      val own = side(made.set, "Main", "")
      val java = new JavaProtobuf(made.file.findMessageTypeByName("Main"), emitDefaults = false)
      val decoder = Protobuf.decoder(own)
      val (decode, into) = (Decoded.by(decoder, own), new DecodedValues(own.types))
      (1 to 20).foreach { _ =>
        val good = made.message().toByteArray
        val damaged = good.clone()
        (0 to random.nextInt(2)).filter(_ => good.nonEmpty).foreach(_ =>
          damaged(random.nextInt(good.length)) = random.nextInt().toByte
        )
        Seq(good, if (random.nextInt(3) == 0) damaged.dropRight(1) else damaged, good).foreach { bytes =>
          val found = decode(bytes)
          Try(java.row(bytes)).toOption match {
            case None => assert(found.bad, made.file.toProto); bad += 1
            // Java's library takes a field in the encoding of another type for an unknown one.
            case Some(_) if found.bad =>
              val isOther = decoder.decode(bytes, into).reason.contains("another type")
              assert(isOther || hasLongVarint(bytes), made.file.toProto)
              otherTypes += 1
            case Some(row) =>
              assert(
                found == Decoded.of(Row.fromSeq(row.toSeq :+ null), own.schema),
                s"${bytes.map("%02x".format(_)).mkString} ${made.file.toProto}"
              )
              same += 1
          }
        }
      }
    }
    info(s"$same the same, $bad bad, $otherTypes of another type")
    assert(same > 1000 && bad > 100)
  }
}
