package io.github.dynamickafka.format.json

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import org.apache.spark.sql.types.{
  ArrayType,
  BooleanType,
  ByteType,
  DataType,
  DateType,
  DecimalType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  MapType,
  ShortType,
  StructType,
  TimestampType,
  VariantType
}

/**
 * The JSON Schema of columns, to register what is written. [[JsonSchemaColumns]] makes the columns of it again. Pure.
 *
 * @param asText the types whose values are texts in a format of their own
 */
private[dynamickafka] final class JsonSchemaText private (asText: Set[DataType]) {
  import JsonSchemaText._

  private def ofObject(struct: StructType): ObjectNode = {
    val node = make.objectNode.put("type", "object")
    val properties = node.putObject("properties")
    struct.foreach(field =>
      properties.set[ObjectNode](
        field.name,
        if (field.nullable) orNull(field.dataType) else typeOf(field.dataType)
      )
    )
    node
  }

  private def orNull(dataType: DataType): ObjectNode =
    if (dataType == VariantType) typeOf(dataType)
    else {
      val node = make.objectNode
      node.putArray("oneOf").add(make.objectNode.put("type", "null")).add(typeOf(dataType))
      node
    }

  private def typeOf(dataType: DataType): ObjectNode = dataType match {
    case text if asText(text) => make.objectNode.put("type", "string")
    case struct: StructType => ofObject(struct)
    case ArrayType(element, nullable) =>
      val node = make.objectNode.put("type", "array")
      node.set[ObjectNode]("items", if (nullable) orNull(element) else typeOf(element))
      node
    case MapType(_, value, nullable) =>
      val node = make.objectNode.put("type", "object")
      node.set[ObjectNode]("additionalProperties", if (nullable) orNull(value) else typeOf(value))
      node
    // Anything, also null.
    case VariantType => make.objectNode
    case BooleanType => make.objectNode.put("type", "boolean")
    case ByteType => integer("int8")
    case ShortType => integer("int16")
    case IntegerType => integer("int32")
    case LongType => integer("int64")
    case FloatType => number("float32")
    case DoubleType => number("float64")
    case _: DecimalType => make.objectNode.put("type", "number")
    case TimestampType => make.objectNode.put("type", "string").put("format", "date-time")
    case DateType => make.objectNode.put("type", "string").put("format", "date")
    case _ => make.objectNode.put("type", "string")
  }

  /** The names of Kafka Connect, which Confluent's tools read. */
  private def integer(name: String) = make.objectNode.put("type", "integer").put("connect.type", name)
  private def number(name: String) = make.objectNode.put("type", "number").put("connect.type", name)
}

private[dynamickafka] object JsonSchemaText {
  private val Draft = "http://json-schema.org/draft-07/schema#"

  /** As of the record in Avro; some serializers require a title. */
  private val Title = "topLevelRecord"
  private val make = JsonNodeFactory.instance

  /** Of records that can be any JSON. */
  val Anything: String = make.objectNode.put("$schema", Draft).put("title", Title).toString

  def of(columns: StructType, asText: Set[DataType] = Set.empty): String = {
    val root = make.objectNode.put("$schema", Draft).put("title", Title)
    root.setAll[ObjectNode](new JsonSchemaText(asText).ofObject(columns))
    root.toString
  }
}
