package io.github.dynamickafka.format

import java.util.Locale

import scala.jdk.CollectionConverters._
import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.avro.Schema
import org.apache.spark.sql.avro.{DynamicKafkaAvro, SchemaConverters}
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.types.{DataType, StructType}

/** Parses the option `schema`: DDL, the JSON of a `StructType`, or an Avro schema. Pure. */
private[dynamickafka] object SchemaText {
  private val mapper = new ObjectMapper()

  /**
   * The schema, or the reason why the text is none.
   *
   * @param avroOptions those of `from_avro`, some of which give an Avro schema other columns
   * @param avroOf the Avro schema of columns of which some are NOT NULL, for formats whose bytes depend on that
   */
  def parse(
      text: String,
      avroOptions: Map[String, String] = Map.empty,
      avroOf: StructType => Option[String] = _ => None
  ): Either[String, DeclaredSchema] = {
    def ofColumns(found: DataType, what: String) =
      struct(found, what).map(columns =>
        DeclaredSchema(
          columns,
          Some(found).collect { case s: StructType if s != columns => s }.flatMap(avroOf)
        )
      )
    val trimmed = text.trim
    try
      if (!trimmed.startsWith("{")) ofColumns(ofDdl(trimmed), "the DDL")
      else if (isAvro(trimmed)) {
        val avro = new Schema.Parser().parse(trimmed)
        struct(DynamicKafkaAvro.columnType(avro, avroOptions), "the Avro schema").map(
          DeclaredSchema(_, Some(trimmed))
        )
      } else ofColumns(DataType.fromJson(trimmed), "the JSON")
    catch { case NonFatal(e) => Left(s"it cannot be parsed: ${firstLine(e)}") }
  }

  /** Columns, or a type. The error of a text that is neither is about the columns: as a type, only its first word is read. */
  private def ofDdl(text: String): DataType =
    try StructType.fromDDL(text)
    catch {
      case NonFatal(e) if !text.toLowerCase(Locale.ROOT).startsWith("struct<") =>
        Try(DataType.fromDDL(text)).getOrElse(throw e)
      case NonFatal(_) => DataType.fromDDL(text)
    }

  /** The JSON of a `StructType` has the type `struct`. */
  private def isAvro(json: String): Boolean =
    Try(mapper.readTree(json).path("type").asText("")).toOption.exists(t => t.nonEmpty && t != "struct")

  private def struct(dataType: DataType, what: String): Either[String, StructType] = dataType match {
    case _: StructType if CharVarcharUtils.hasCharVarchar(dataType) =>
      Left("CHAR and VARCHAR are not supported: use STRING.")
    case schema: StructType if schema.isEmpty => Left(s"$what has no columns.")
    // Decoded columns are nullable, whatever the schema says, because a value may be null.
    case schema: StructType => Right(schema.toNullable)
    case other => Left(s"$what describes ${other.sql}, not a record.")
  }

  private def firstLine(e: Throwable): String =
    String.valueOf(e.getMessage).linesIterator.map(_.trim).find(_.nonEmpty).getOrElse(
      e.getClass.getSimpleName
    )
}

/** The Avro schema of columns that were not given as one. Pure. */
private[dynamickafka] object AvroSchemas {
  private val mapper = new ObjectMapper()

  /**
   * A record `topLevelRecord`, as Spark names it; in the union of a nullable field, null is first and the default. Without
   * defaults, registries would refuse a further column.
   */
  def of(columns: StructType): Schema = {
    val ofSpark = SchemaConverters.toAvroType(columns, nullable = false, "topLevelRecord", "")
    val tree = mapper.readTree(ofSpark.toString)
    nullFirst(tree)
    new Schema.Parser().parse(mapper.writeValueAsString(tree))
  }

  /** @param declared as JSON; None: it is that of the columns */
  def of(declared: Option[String], columns: StructType): Schema = declared.fold(of(columns))(parse)

  /** Registries accept defaults that do not fit their types. */
  def parse(text: String): Schema = parser().parse(text)

  def parser(): Schema.Parser = new Schema.Parser().setValidateDefaults(false)

  /**
   * The schema of a record without some of its fields; all else is as it was given, such as names, defaults and aliases.
   *
   * @param schema as JSON
   */
  def without(schema: String, fields: Set[String]): String =
    if (fields.isEmpty) schema
    else {
      val record = parse(schema)
      val kept =
        record.getFields.asScala.filterNot(f => fields(f.name)).map(f => new Schema.Field(f, f.schema))
      val reduced =
        Schema.createRecord(record.getName, record.getDoc, record.getNamespace, record.isError, kept.asJava)
      record.getAliases.asScala.foreach(reduced.addAlias(_))
      record.getObjectProps.asScala.foreach { case (name, value) => reduced.addProp(name, value) }
      reduced.toString
    }

  /** Spark puts null last. Arrays in a schema are unions, fields, or the symbols of an enum, which Spark does not make. */
  private def nullFirst(node: JsonNode): Unit = {
    node match {
      case union: ArrayNode if union.size == 2 && union.get(1).isTextual && union.get(1).asText == "null" =>
        val _ = union.insert(0, union.remove(1))
      case field: ObjectNode if field.path("type").isArray =>
        val _ = field.putNull("default")
      case _ => ()
    }
    node.forEach(child => nullFirst(child))
  }
}
