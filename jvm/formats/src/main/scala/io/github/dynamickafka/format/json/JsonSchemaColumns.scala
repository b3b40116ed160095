package io.github.dynamickafka.format.json

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
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
  StringType,
  StructField,
  StructType,
  TimestampType,
  VariantType
}

import io.github.dynamickafka.schemaregistry.RegisteredSchema

/**
 * The columns of a JSON Schema. What has no type in Spark, such as a choice between types, becomes STRING, which contains the JSON.
 * Pure.
 */
private[dynamickafka] object JsonSchemaColumns {
  private val mapper = new ObjectMapper

  /** The columns, or the reason why there are none. */
  def parse(schema: RegisteredSchema): Either[String, StructType] =
    try {
      val references = schema.references.map(r => r.name -> mapper.readTree(r.text)).toMap
      val root = mapper.readTree(schema.text)
      typeOf(root, Scope(root, references, Set.empty)) match {
        case struct: StructType if struct.nonEmpty => Right(struct)
        case _ => Left("the JSON Schema does not describe an object with properties.")
      }
    } catch { case NonFatal(e) => Left(s"the JSON Schema cannot be parsed: ${e.getClass.getSimpleName}") }

  /**
   * @param root the document, in which `#/...` refers to a part
   * @param within what is being converted: a schema that contains itself has no type
   */
  private final case class Scope(root: JsonNode, documents: Map[String, JsonNode], within: Set[String])

  private def typeOf(node: JsonNode, scope: Scope): DataType =
    if (node.has("$ref")) referred(node.get("$ref").asText, scope)
    else if (node.has("allOf")) merged(node, scope)
    else if (node.has("oneOf")) choice(node.get("oneOf"), scope)
    else if (node.has("anyOf")) choice(node.get("anyOf"), scope)
    else
      types(node) match {
        case Seq("string") => text(node.path("format").asText)
        case Seq("integer") => integer(node.path("connect.type").asText)
        case Seq("number") => if (node.path("connect.type").asText == "float32") FloatType else DoubleType
        case Seq("boolean") => BooleanType
        case Seq("array") if node.path("items").isObject => ArrayType(typeOf(node.get("items"), scope))
        case Seq("object") => ofObject(node, scope)
        case Nil if node.has("properties") => ofObject(node, scope)
        case _ => StringType
      }

  private def types(node: JsonNode): Seq[String] = {
    val own = node.path("type")
    val all = if (own.isArray) own.elements.asScala.map(_.asText).toSeq else Seq(own.asText)
    all.filter(name => name.nonEmpty && name != "null")
  }

  private def text(format: String): DataType = format match {
    case "date-time" => TimestampType
    case "date" => DateType
    case _ => StringType
  }

  private def integer(connect: String): DataType = connect match {
    case "int8" | "int16" => ShortType
    case "int32" => IntegerType
    case _ => LongType
  }

  private def ofObject(node: JsonNode, scope: Scope): DataType =
    if (node.path("properties").isObject && !node.path("properties").isEmpty)
      StructType(node.get("properties").properties.asScala.toSeq.map(e =>
        StructField(e.getKey, typeOf(e.getValue, scope))
      ))
    else if (node.path("additionalProperties").isObject)
      MapType(StringType, typeOf(node.get("additionalProperties"), scope))
    else StringType

  /** One type or null. */
  private def choice(node: JsonNode, scope: Scope): DataType =
    node.elements.asScala.filterNot(_.path("type").asText == "null").toSeq match {
      case Seq(one) => typeOf(one, scope)
      case _ => StringType
    }

  private def merged(node: JsonNode, scope: Scope): DataType = {
    val parts = node.get("allOf").elements.asScala.map(typeOf(_, scope)).toSeq :+
      (if (node.has("properties")) ofObject(node, scope) else StructType(Nil))
    if (parts.forall(_.isInstanceOf[StructType]))
      StructType(parts.flatMap(_.asInstanceOf[StructType].fields).distinctBy(_.name))
    else parts.headOption.filter(_ => node.get("allOf").size == 1).getOrElse(StringType)
  }

  private def referred(reference: String, scope: Scope): DataType =
    if (scope.within.contains(reference)) StringType
    else {
      val inner = scope.copy(within = scope.within + reference)
      if (reference.startsWith("#")) {
        val target = scope.root.at(reference.drop(1))
        if (target.isMissingNode) StringType else typeOf(target, inner)
      } else
        scope.documents.get(reference).fold[DataType](StringType)(root =>
          typeOf(root, inner.copy(root = root))
        )
    }
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
