package io.github.dynamickafka.format

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}

/** Encodes the fields of keys or values. Used by one task. Not thread-safe. */
private[dynamickafka] trait Encoder {

  /** Shows the record whose bytes are encoded. Called once, before the first row. */
  def within(context: WriteContext): Unit = {
    val _ = context
  }

  /** Called at the end of the task. */
  def close(): Unit = ()

  def encode(row: InternalRow): Array[Byte]
}

/** The row cannot be encoded; the message contains nothing of it. */
private[dynamickafka] final class UnencodableException(message: String) extends RuntimeException(message)

/** What Spark's functions check before they run. */
private[format] object TypeCheck {

  /** @param check of the function's expression, by the struct of the fields and the time zone */
  def problem(fields: SideSource.Fields)(
      check: (Expression, Option[String]) => TypeCheckResult
  ): Option[String] =
    check(BoundReference(0, fields.schema, nullable = false), fields.format.options.get("timeZone")) match {
      case TypeCheckResult.TypeCheckSuccess => None
      case TypeCheckResult.DataTypeMismatch(condition, parameters) =>
        Some(s"$condition ${parameters.map { case (k, v) => s"$k: $v" }.mkString(", ")}")
      case TypeCheckResult.TypeCheckFailure(message) => Some(message)
      case other => Some(other.toString)
    }
}
