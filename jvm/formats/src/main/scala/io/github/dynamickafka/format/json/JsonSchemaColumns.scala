package io.github.dynamickafka.format.json

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.types.{
  ArrayType,
  BooleanType,
  DataType,
  DateType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  MapType,
  ShortType,
  StringType,
  StructField,
  StructType,
  TimestampType
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
