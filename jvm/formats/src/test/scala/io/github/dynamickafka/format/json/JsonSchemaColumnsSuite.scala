package io.github.dynamickafka.format.json

import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.schemaregistry.{NamedSchema, RegisteredSchema}
import io.github.dynamickafka.testkit.TimeLimit

class JsonSchemaColumnsSuite extends AnyFunSuite with TimeLimit {

  private def ddl(text: String, references: NamedSchema*): String =
    JsonSchemaColumns.parse(RegisteredSchema("JSON", text, references)).fold(identity, _.toDDL)

  private def property(schema: String): String = ddl(s"""{"type":"object","properties":{"a":$schema}}""")

  test("the types of JSON Schema") {
    Seq(
      """{"type":"string"}""" -> "STRING",
      """{"type":"string","format":"date-time"}""" -> "TIMESTAMP",
      """{"type":"string","format":"date"}""" -> "DATE",
      """{"type":"integer"}""" -> "BIGINT",
      """{"type":"integer","connect.type":"int32"}""" -> "INT",
      """{"type":"integer","connect.type":"int8"}""" -> "SMALLINT",
      """{"type":"number"}""" -> "DOUBLE",
      """{"type":"number","connect.type":"float32"}""" -> "FLOAT",
      """{"type":"boolean"}""" -> "BOOLEAN",
      """{"type":["null","integer"]}""" -> "BIGINT",
      """{"oneOf":[{"type":"null"},{"type":"integer"}]}""" -> "BIGINT",
      """{"anyOf":[{"type":"string"},{"type":"integer"}]}""" -> "STRING",
      """{"type":["string","integer"]}""" -> "STRING",
      """{"enum":["A","B"]}""" -> "STRING",
      """{"type":"array","items":{"type":"number"}}""" -> "ARRAY<DOUBLE>",
      """{"type":"array"}""" -> "STRING",
      """{"type":"object"}""" -> "STRING",
      """{"type":"object","additionalProperties":{"type":"boolean"}}""" -> "MAP<STRING, BOOLEAN>",
      """{"type":"object","properties":{"b":{"type":"integer"}}}""" -> "STRUCT<b: BIGINT>",
      "true" -> "STRING"
    ).foreach { case (schema, expected) => assert(property(schema) == s"a $expected", schema) }
  }

  test("references within the schema and to others, and parts that are put together") {
    assert(
      ddl("""{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/definitions/none"}},
            |"$defs":{"x":{"type":"integer"}}}""".stripMargin) == "a BIGINT,b STRING"
    )
    assert(
      ddl(
        """{"type":"object","properties":{"a":{"$ref":"other.json"}}}""",
        NamedSchema("other.json", """{"$ref":"#/$defs/y","$defs":{"y":{"type":"boolean"}}}""")
      ) == "a BOOLEAN"
    )
    assert(
      ddl(
        """{"allOf":[{"type":"object","properties":{"a":{"type":"integer"}}}],"properties":{"b":{"type":"string"}}}"""
      )
        == "a BIGINT,b STRING"
    )
    assert(
      ddl("""{"type":"object","properties":{"id":{"type":"integer"},"next":{"$ref":"#"}}}""")
        == "id BIGINT,next STRUCT<id: BIGINT, next: STRING>"
    )
  }

  test("the JSON Schema of columns has these columns") {
    val columns = StructType.fromDDL(
      "a BIGINT, b INT, c SMALLINT, d FLOAT, e DOUBLE, f BOOLEAN, g STRING, h TIMESTAMP, i DATE, j ARRAY<STRUCT<k: INT>>, " +
        "l MAP<STRING, DOUBLE>, m STRUCT<n: STRING>"
    )
    Seq(columns, StructType(columns.map(_.copy(nullable = false)))).foreach(of =>
      assert(ddl(JsonSchemaText.of(of)) == columns.toDDL)
    )
    assert(JsonSchemaText.of(StructType.fromDDL("x DECIMAL(5, 2), y BINARY")).contains("\"number\""))
  }

  test("no columns") {
    Seq("""{"type":"string"}""", """{"type":"object"}""", "nonsense", "").foreach(text =>
      assert(ddl(text).contains("JSON Schema"), text)
    )
  }
}
