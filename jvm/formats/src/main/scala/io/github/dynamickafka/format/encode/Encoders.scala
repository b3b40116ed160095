package io.github.dynamickafka.format.encode

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{BoundReference, StructsToCsv, StructsToJson}
import org.apache.spark.sql.types.{BinaryType, StructType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.Format
import io.github.dynamickafka.format.encode.SideSource.Fields

/** Makes the encoder of keys or values, for one task. */
private[dynamickafka] object Encoders {

  def of(side: Fields): Encoder = side.format.format match {
    case Format.Json | Format.JsonConfluent => new JsonEncoder(side)
    case Format.Csv => new CsvEncoder(side)
    case Format.Avro | Format.AvroConfluent => new AvroEncoder(side)
    case Format.DebeziumJson | Format.CanalJson => new ChangeEncoder(side)
    case other => throw new IllegalArgumentException(s"${other.name} has no fields")
  }

  /**
   * Makes an encoder on the driver, so that types and options that a format does not support are found before anything is
   * written.
   *
   * @throws DynamicKafkaIllegalArgumentException `INVALID_COLUMN`, or `INVALID_SCHEMA` if the types are those of `schema`
   */
  def check(side: Fields, declared: Boolean): Unit = {
    def refuse(reason: String) =
      if (declared) throw Errors.invalidSchema(text(side, reason))
      else throw Errors.invalidColumn(
        unsupported(side).getOrElse(side.schema.fieldNames.mkString(", ")),
        text(side, reason)
      )
    val problem =
      try {
        val _ = of(side)
        problemOf(side)
      } catch { case NonFatal(e) => Some(String.valueOf(e.getMessage)) }
    problem.foreach(refuse)
  }

  private def text(side: Fields, reason: String) =
    s"the format '${side.format.format.name}' with its options cannot have the columns ${side.schema.toDDL}: $reason"

  /** The first column that cannot be written by itself. */
  private def unsupported(side: Fields): Option[String] = side.schema.fields.find { field =>
    val alone = side.copy(schema = StructType(Seq(field)), avro = None)
    try {
      val _ = of(alone)
      problemOf(alone).isDefined
    } catch { case NonFatal(_) => true }
  }.map(_.name)

  /** What Spark's functions check before they run. */
  private def problemOf(side: Fields): Option[String] = {
    val row = BoundReference(0, side.schema, nullable = false)
    val zone = side.format.options.get("timeZone")
    side.format.format match {
      case Format.Json | Format.JsonConfluent | _: Format.Change =>
        failure(StructsToJson(side.format.options, row, zone).checkInputDataTypes())
      case Format.Csv =>
        side.schema.fields.find(_.dataType == BinaryType)
          .map(f => s"'${f.name}' is BINARY, which Spark's 'to_csv' does not write as text.")
          .orElse(failure(StructsToCsv(side.format.options, row, zone).checkInputDataTypes()))
      case _ => None
    }
  }

  private def failure(result: TypeCheckResult): Option[String] = result match {
    case TypeCheckResult.TypeCheckSuccess => None
    case TypeCheckResult.DataTypeMismatch(condition, parameters) =>
      Some(s"$condition ${parameters.map { case (k, v) => s"$k: $v" }.mkString(", ")}")
    case TypeCheckResult.TypeCheckFailure(message) => Some(message)
    case other => Some(other.toString)
  }
}
