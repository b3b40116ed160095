package io.github.dynamickafka.format.table

import scala.util.Try
import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.avro.DynamicKafkaAvroFunctions
import org.apache.spark.sql.catalyst.expressions.{BoundReference, CsvToStructs, Expression, JsonToStructs}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{BinaryType, DataType, StringType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.SideLayout

/**
 * What Spark's expressions `from_csv`, `from_json` and `from_avro` make of a record. Each record is evaluated by an expression of
 * its own, which has evaluated only one simple value before, so that no record can affect another one.
 */
object BySpark {

  /** @param options those of the expression, by Spark's names */
  def csv(side: SideLayout, options: Map[String, String]): Array[Byte] => Decoded =
    of(wanted(side), StringType)(mode =>
      CsvToStructs(
        side.schema,
        // A smaller buffer, because a new one is filled with zeros for each record.
        options ++ Map("mode" -> mode, "inputBufferSize" -> "8192"),
        text,
        zone,
        Some(wanted(side)).filter(_ != side.schema)
      )
    )

  def json(side: SideLayout, options: Map[String, String]): Array[Byte] => Decoded =
    of(wanted(side), StringType)(mode => JsonToStructs(wanted(side), options + ("mode" -> mode), text, zone))

  /** @param schema as JSON; all its fields are compared */
  def avro(schema: String, columns: StructType, options: Map[String, String]): Array[Byte] => Decoded =
    of(columns, BinaryType)(mode =>
      DynamicKafkaAvroFunctions.fromAvro(
        BoundReference(0, BinaryType, nullable = true),
        schema,
        options + ("mode" -> mode)
      )
    )

  private def wanted(side: SideLayout) = StructType(side.wanted.map(side.schema(_)))
  private val text = BoundReference(0, StringType, nullable = true)
  private def zone = Some(SQLConf.get.sessionLocalTimeZone)

  private def of(schema: StructType, input: DataType)(expression: String => Expression)
      : Array[Byte] => Decoded = {
    val convert = CatalystTypeConverters.createToScalaConverter(schema)
    bytes => {
      val simple = if (input == BinaryType) Array.emptyByteArray else UTF8String.fromString("0")
      val row = InternalRow(if (input == BinaryType) bytes else UTF8String.fromBytes(bytes))
      val bad = evaluated(expression("FAILFAST"), row, simple).isEmpty
      // In its permissive mode too, an expression fails for some records.
      evaluated(expression("PERMISSIVE"), row, simple) match {
        // With some columns only, what has none of them is a row of all columns.
        case Some(columns: InternalRow) if columns.numFields == schema.length =>
          Decoded(convert(columns).asInstanceOf[Row].toSeq.map(Decoded.text), bad)
        case _ => Decoded(schema.map(_ => "null"), bad)
      }
    }
  }

  /** None: the expression has failed. */
  private def evaluated(expression: Expression, row: InternalRow, simple: Any): Option[Any] =
    try {
      // Univocity's parser treats the first record in another way.
      val _ = Try(expression.eval(InternalRow(simple)))
      Some(expression.eval(row))
    } catch {
      case NonFatal(_) => None
      // Avro allocates what a damaged record asks for.
      case _: OutOfMemoryError => None
    }
}
