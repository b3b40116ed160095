package io.github.dynamickafka.protobuf

/** Files that .proto files import without that a registry has them, as far as messages can have their types. */
private[protobuf] object WellKnownTypes {
  private val wrappers = Seq(
    "Double" -> "double",
    "Float" -> "float",
    "Int64" -> "int64",
    "UInt64" -> "uint64"
  ) ++
    Seq("Int32" -> "int32", "UInt32" -> "uint32", "Bool" -> "bool", "String" -> "string", "Bytes" -> "bytes")

  private val google =
    s"""syntax = "proto3"; package google.protobuf;
       |message Timestamp { int64 seconds = 1; int32 nanos = 2; }
       |message Duration { int64 seconds = 1; int32 nanos = 2; }
       |message Any { string type_url = 1; bytes value = 2; }
       |message Empty {}
       |message FieldMask { repeated string paths = 1; }
       |message Struct { map<string, Value> fields = 1; }
       |enum NullValue { NULL_VALUE = 0; }
       |message ListValue { repeated Value values = 1; }
       |message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3;
       |  bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } }
       |${wrappers.map { case (name, of) => s"message ${name}Value { $of value = 1; }" }.mkString("\n")}
       |""".stripMargin

  private val types =
    """syntax = "proto3"; package google.type;
      |message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
      |message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
      |message LatLng { double latitude = 1; double longitude = 2; }
      |message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
      |""".stripMargin

  private val confluent =
    """syntax = "proto3"; package confluent.type;
      |message Decimal { bytes value = 1; int32 precision = 2; int32 scale = 3; }
      |""".stripMargin

  val files: Seq[FileDefinition] = Seq(google, types, confluent).map(ProtoText.parse("", _))
}
