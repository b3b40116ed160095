package io.github.dynamickafka.format.protobuf

import java.util.Base64

import com.google.protobuf.DescriptorProtos.{DescriptorProto, FieldDescriptorProto, FileDescriptorProto}
import com.google.protobuf.{DescriptorProtos, StructProto, WrappersProto}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.schemaregistry.{NamedSchema, RegisteredSchema}
import io.github.dynamickafka.testkit.TimeLimit

class ProtoTextSuite extends AnyFunSuite with TimeLimit {

  private def types(text: String, references: (String, String)*): ProtoTypes =
    ProtobufSchemas.ofRegistry(RegisteredSchema(
      "PROTOBUF",
      text,
      references.map((NamedSchema(_, _)).tupled)
    )).fold(reason => fail(reason), identity)

  private def field(of: ProtoTypes, message: String, name: String): ProtoField =
    of.messages(message).fields.find(_.name == name).get

  test("syntax 3: scopes, maps, oneofs, optional, options, comments, reserved, services") {
    val found = types(
      """// A comment; with 'quotes"
        |syntax = "proto3"; /* message Not {} */
        |package a.b;
        |import public "other.proto";
        |option java_package = "x.y"; option (own) = { a: 1 b: { c: "}" } };
        |message Outer {
        |  option deprecated = true;
        |  reserved 2, 15, 9 to 11; reserved "foo", "bar";
        |  message Inner { enum Kind { option allow_alias = true; X = 0; Y = 0x10 [deprecated = true]; Z = -1; reserved 7; } Kind kind = 1; }
        |  Inner inner = 1; .a.b.Outer.Inner.Kind kind = 3 [(own).x = "]", json_name = "k"];
        |  map<string, Inner> by_name = 4; map < int32 , double > numbers = 5;
        |  oneof choice { string one = 6; Other two = 7; }
        |  optional int64 maybe = 8; repeated sfixed64 many = 12 [packed = false];
        |  c.Far far = 13; string message = 14; bool optional = 16; bytes reserved_ = 17;;
        |}
        |message Other {}
        |service S { rpc Do(Outer) returns (stream Other) { option (x) = "y"; } }
        |""".stripMargin,
      "other.proto" -> """syntax = "proto3"; package a.c; message Far { int32 x = 1; }"""
    )
    assert(found.roots == Seq("a.b.Outer", "a.b.Other"))
    val outer = found.messages("a.b.Outer")
    assert(outer.declared == Seq("a.b.Outer.Inner"))
    assert(outer.messages == Seq("Inner", "ByNameEntry", "NumbersEntry").map(name => s"a.b.Outer.$name"))
    assert(outer.fields.map(f => (f.name, f.number, f.kind, f.typeName)) == Seq(
      ("inner", 1, FieldKind.Message, "a.b.Outer.Inner"),
      ("kind", 3, FieldKind.Enum, "a.b.Outer.Inner.Kind"),
      ("by_name", 4, FieldKind.Message, "a.b.Outer.ByNameEntry"),
      ("numbers", 5, FieldKind.Message, "a.b.Outer.NumbersEntry"),
      ("one", 6, FieldKind.Text, ""),
      ("two", 7, FieldKind.Message, "a.b.Other"),
      ("maybe", 8, FieldKind.Int64, ""),
      ("many", 12, FieldKind.SFixed64, ""),
      ("far", 13, FieldKind.Message, "a.c.Far"),
      ("message", 14, FieldKind.Text, ""),
      ("optional", 16, FieldKind.Bool, ""),
      ("reserved_", 17, FieldKind.Bytes, "")
    ))
    assert(outer.fields.filter(_.hasPresence).map(_.name) == Seq("inner", "one", "two", "maybe", "far"))
    assert(outer.fields.filter(_.oneof >= 0).map(_.name) == Seq("one", "two"))
    assert(found.enums("a.b.Outer.Inner.Kind") ==
      ProtoEnum("a.b.Outer.Inner.Kind", Seq("X" -> 0, "Y" -> 16, "Z" -> -1), isClosed = false))
    assert(found.messages("a.b.Outer.ByNameEntry").isMapEntry)
    assert(found.at(Seq(0, 0)).map(_.name) == Seq("a.b.Outer.Inner") && found.at(Seq(1, 0)).isEmpty)
    assert(field(found, "a.b.Outer", "one").requiresUtf8)
  }

  test("syntax 2: labels, defaults, groups, extensions") {
    val found = types(
      """message Old {
        |  required string id = 1 [default = "a\n\x41" "b"]; optional int32 n = 2 [default = -5, deprecated = true];
        |  optional double d = 3 [default = -1.5e-3]; optional bytes b = 4 [default = "\001\377"];
        |  repeated group Part = 5 { optional int32 x = 1; } extensions 100 to max;
        |  extend Old { optional int32 more = 100; } optional float f = 6 [default = inf];
        |}
        |extend Old { optional int32 most = 101; }""".stripMargin
    )
    val fields = found.messages("Old").fields
    assert(fields.map(_.name) == Seq("id", "n", "d", "b", "part", "f"))
    assert(fields.map(_.default) == Seq(
      Some("a\nAb"),
      Some("-5"),
      Some("-1.5e-3"),
      Some("\\001\\377"),
      None,
      Some("inf")
    ))
    assert(ProtoTokens.unescaped(fields(3).default.get).toSeq == Seq[Byte](1, -1))
    assert(fields.head.required && fields.forall(f => f.hasPresence || f.repeated))
    assert(fields(4).isDelimited && fields(4).typeName == "Old.Part")
    assert(!fields.head.requiresUtf8)
  }

  test("editions: features of files, messages and fields") {
    val found = types(
      """edition = "2023"; option features.field_presence = IMPLICIT;
        |message M { int32 a = 1; int32 b = 2 [features.field_presence = EXPLICIT];
        |  M m = 3 [features.message_encoding = DELIMITED]; E e = 4; string s = 5 [features.utf8_validation = NONE]; }
        |enum E { option features.enum_type = CLOSED; X = 1; }""".stripMargin
    )
    val fields = found.messages("M").fields
    assert(fields.map(_.hasPresence) == Seq(false, true, true, false, false))
    assert(fields(2).isDelimited && found.enums("E").isClosed && !fields(4).requiresUtf8)
  }

  test("a descriptor means what the text means; both are accepted from a registry") {
    val text =
      """syntax = "proto3"; package p; message M { int32 a = 1; optional string b = 2; map<string, E> c = 3;
        |  oneof o { M m = 4; bool x = 5; } enum E { Z = 0; } google.protobuf.Timestamp at = 6; }""".stripMargin
    def field(name: String, number: Int, of: FieldDescriptorProto.Type) =
      FieldDescriptorProto.newBuilder().setName(name).setNumber(number).setType(of)
        .setLabel(FieldDescriptorProto.Label.LABEL_OPTIONAL)
    import FieldDescriptorProto.Type._
    val entry = DescriptorProto.newBuilder().setName("CEntry")
      .setOptions(DescriptorProtos.MessageOptions.newBuilder().setMapEntry(true))
      .addField(field("key", 1, TYPE_STRING)).addField(field("value", 2, TYPE_ENUM).setTypeName(".p.M.E"))
    val message = DescriptorProto.newBuilder().setName("M").addField(field("a", 1, TYPE_INT32))
      .addField(field("b", 2, TYPE_STRING).setProto3Optional(true).setOneofIndex(1))
      .addField(field("c", 3, TYPE_MESSAGE).setTypeName(".p.M.CEntry").setLabel(
        FieldDescriptorProto.Label.LABEL_REPEATED
      ))
      .addField(field("m", 4, TYPE_MESSAGE).setTypeName(".p.M").setOneofIndex(0))
      .addField(field("x", 5, TYPE_BOOL).setOneofIndex(0))
      .addField(field("at", 6, TYPE_MESSAGE).setTypeName(".google.protobuf.Timestamp"))
      .addOneofDecl(DescriptorProtos.OneofDescriptorProto.newBuilder().setName("o"))
      .addOneofDecl(DescriptorProtos.OneofDescriptorProto.newBuilder().setName("_b"))
      .addNestedType(entry)
      .addEnumType(DescriptorProtos.EnumDescriptorProto.newBuilder().setName("E").addValue(
        DescriptorProtos.EnumValueDescriptorProto.newBuilder().setName("Z").setNumber(0)
      ))
    val file =
      FileDescriptorProto.newBuilder().setName(
        "m.proto"
      ).setPackage("p").setSyntax("proto3").addMessageType(message)
    val encoded = Base64.getEncoder.encodeToString(file.build().toByteArray)
    val (described, written) = (types(encoded), types(text))
    assert(described.enums == written.enums && described.roots == written.roots)
    written.messages.foreach { case (name, message) =>
      assert(described.messages(name).copy(declared = message.declared) == message)
    }
    assert(types(text).messages("p.M").fields.last.typeName == "google.protobuf.Timestamp")
  }

  test("the files that every library has are as Java's library has them") {
    val own = types("message X {}")
    Seq(StructProto.getDescriptor, WrappersProto.getDescriptor).foreach { file =>
      val java = ProtoTypes.of(Seq(DescriptorBytes.file(file.toProto.toByteArray)))
      java.messages.foreach { case (name, message) =>
        assert(own.messages(name).fields == message.fields, name)
      }
    }
  }

  test("numbers as protoc reads them: octal, hexadecimal, signs; what is none is refused with the schema") {
    def defaults(fields: String*): Seq[Option[String]] = {
      val numbered = fields.zipWithIndex.map { case (f, i) => f.replace("#", s"f$i = ${i + 1}") }
      types(s"message M { ${numbered.mkString(" ")} } enum E { A = 010; B = -0x1; }").messages("M").fields
        .map(_.default)
    }
    assert(defaults(
      "optional int32 # [default = 0644];",
      "optional uint32 # [default = 0xFF];",
      "optional sint64 # [default = -0x10, deprecated = true];",
      "optional fixed64 # [default = 18446744073709551615];",
      "optional int32 # [default = - 2147483648];",
      "optional double # [default = 0x10];",
      "optional float # [default = -1.5E+3];",
      "optional double # [default = -inf];",
      "optional bool # [default = true];",
      "optional E # [default = B];",
      "optional int64 # [default = 0];"
    ).flatten == Seq(
      "420",
      "255",
      "-16",
      "18446744073709551615",
      "-2147483648",
      "16",
      "-1.5E+3",
      "-inf",
      "true",
      "B",
      "0"
    ))
    assert(types("enum E { A = 010; B = -0x1; }").enums("E").values == Seq("A" -> 8, "B" -> -1))
    Seq(
      "int32 f = 1 [default = 08]",
      "int32 f = 1 [default = 1.5]",
      "int32 f = 1 [default = 2147483648]",
      "uint32 f = 1 [default = -1]",
      "int64 f = 1 [default = x]",
      "bool f = 1 [default = 1]",
      "double f = 1 [default = 1d]",
      "string f = 1 [default = 5]"
    ).foreach(field =>
      assert(
        ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", s"message M { optional $field; }")).isLeft,
        field
      )
    )
  }

  test("options with messages: declarations of extensions, features, nested brackets") {
    val found = types(
      """edition = "2023";
        |option features = { field_presence: IMPLICIT, [pb.java] { legacy: true } enum_type: CLOSED; };
        |option (own) = { a: [ { b: "}" }, { c <d: 1> } ] };
        |message M {
        |  extensions 100 to 199 [declaration = { number: 100 full_name: ".x" type: "int32" }, verification = DECLARATION];
        |  extensions 200, 300 to max [(own) = { x: ";" }];
        |  int32 a = 1; int32 b = 2 [features = { field_presence: EXPLICIT }, (own) = { x: [1, 2] }];
        |  M m = 3 [features = { message_encoding: DELIMITED }]; oneof o { option features.utf8_validation = NONE; string s = 4; }
        |  enum Inner { option features = { enum_type: OPEN }; Y = 0; } extend M { int32 more = 100; }
        |}
        |enum E { X = 1; }""".stripMargin
    )
    val fields = found.messages("M").fields
    assert(fields.map(_.name) == Seq("a", "b", "m", "s"))
    assert(fields.map(_.hasPresence) == Seq(false, true, true, true))
    assert(fields(2).isDelimited && !fields(3).requiresUtf8)
    assert(found.enums("E").isClosed && !found.enums("M.Inner").isClosed)
  }

  test("the entries of a map can be a message, as Confluent's serializer for Java registers them") {
    val map = types("syntax = \"proto3\"; message M { map<string, int32> counts = 1; }").messages
    val entries = types(
      """syntax = "proto3"; message M { repeated CountsEntry counts = 1;
        |  message CountsEntry { option map_entry = true; string key = 1; int32 value = 2; } }""".stripMargin
    ).messages
    assert(entries("M.CountsEntry") == map("M.CountsEntry"))
    assert(entries("M").declared == Seq("M.CountsEntry") && map("M").declared.isEmpty)
    assert(entries("M").fields == map("M").fields)
  }

  test("a syntax or an edition that is not known is refused, because its defaults are not known either") {
    Seq("syntax = \"proto4\";", "edition = \"2099\";").foreach { first =>
      val reason =
        ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", s"$first message M { int32 a = 1; }"))
      assert(reason.left.exists(_.contains("is not known")), reason)
    }
    val file = FileDescriptorProto.newBuilder().setName("m.proto").setSyntax("editions")
      .setEdition(DescriptorProtos.Edition.EDITION_99999_TEST_ONLY).build()
    val encoded = Base64.getEncoder.encodeToString(file.toByteArray)
    assert(ProtobufSchemas.ofRegistry(RegisteredSchema(
      "PROTOBUF",
      encoded
    )).left.exists(_.contains("is not known")))
  }

  test("texts that are not .proto files are refused without an error of another kind") {
    Seq(
      "",
      "message",
      "message M {",
      "message M { int32 }",
      "enum E { A = x; }",
      "\"",
      "/*",
      "}",
      "message M { map<a> = 1; }"
    )
      .foreach { text =>
        val found = ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", text))
        assert(found.isLeft || found.exists(_.roots.isEmpty), text)
      }
    val random = new scala.util.Random(io.github.dynamickafka.TestSeed())
    val parts = Seq(
      "message",
      "M",
      "{",
      "}",
      "=",
      "1",
      ";",
      "map",
      "<",
      ">",
      "oneof",
      "[",
      "]",
      "\"x\"",
      "enum",
      "option"
    )
    (1 to 3000).foreach { _ =>
      val text = Seq.fill(random.nextInt(12))(parts(random.nextInt(parts.size))).mkString(" ")
      val _ = ProtobufSchemas.ofRegistry(RegisteredSchema("PROTOBUF", text))
    }
  }
}
