package io.github.dynamickafka.format

import java.util.Locale

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.avro.{Schema => AvroSchema}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.types.{
  ArrayType,
  CharType,
  DataType,
  MapType,
  StructField,
  StructType,
  VarcharType
}

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
        val avro = new AvroSchema.Parser().parse(trimmed)
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

  /** Decoded columns are nullable, whatever the schema says, because a value may be null. */
  def nullable(schema: StructType): StructType = StructType(schema.map { f =>
    StructField(f.name, nullable(f.dataType), nullable = true, f.metadata)
  })

  private def nullable(dataType: DataType): DataType = dataType match {
    case struct: StructType => nullable(struct)
    case ArrayType(element, _) => ArrayType(nullable(element), containsNull = true)
    case MapType(key, value, _) => MapType(nullable(key), nullable(value), valueContainsNull = true)
    case other => other
  }

  /** The JSON of a `StructType` has the type `struct`. */
  private def isAvro(json: String): Boolean =
    Try(mapper.readTree(json).path("type").asText("")).toOption.exists(t => t.nonEmpty && t != "struct")

  private def struct(dataType: DataType, what: String): Either[String, StructType] = dataType match {
    case _: StructType if constrained(dataType) =>
      Left("CHAR and VARCHAR are not supported: use STRING.")
    case schema: StructType if schema.isEmpty => Left(s"$what has no columns.")
    case schema: StructType => Right(nullable(schema))
    case other => Left(s"$what describes ${other.sql}, not a record.")
  }

  private def constrained(dataType: DataType): Boolean =
    dataType match {
      case _: CharType | _: VarcharType => true
      case StructType(fields) => fields.exists(f => constrained(f.dataType))
      case ArrayType(element, _) => constrained(element)
      case MapType(key, value, _) => constrained(key) || constrained(value)
      case _ => false
    }

  private def firstLine(e: Throwable): String =
    String.valueOf(e.getMessage).linesIterator.map(_.trim).find(_.nonEmpty).getOrElse(
      e.getClass.getSimpleName
    )
}
