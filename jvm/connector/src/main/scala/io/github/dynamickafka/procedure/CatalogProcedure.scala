package io.github.dynamickafka.procedure

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{BooleanType, DataType, LongType, StringType, StructType}

import io.github.dynamickafka.procedure.checkpoint.Refusal

/**
 * A procedure of a catalog: what is called, and what it returns.
 *
 * @param columns of the result
 * @param call returns the rows, with Scala's values. Throws [[Refusal]]
 */
private[dynamickafka] final case class CatalogProcedure(
    name: String,
    description: String,
    parameters: Seq[Parameter[_]],
    columns: StructType,
    call: Arguments => Seq[Seq[Any]]
)

/**
 * @param default SQL of the value if the argument is left out; None: it is required
 * @param read the value of the argument that is not null
 */
private[procedure] final case class Parameter[T](
    name: String,
    dataType: DataType,
    comment: String,
    default: Option[String],
    read: (InternalRow, Int) => T
)

private[procedure] object Parameter {
  private val Null = Some("NULL")

  def text(name: String, comment: String): Parameter[String] =
    Parameter(name, StringType, comment, None, _.getUTF8String(_).toString)

  def optionalText(name: String, comment: String): Parameter[String] =
    text(name, comment).copy(default = Null)

  def number(name: String, comment: String): Parameter[Long] =
    Parameter(name, LongType, comment, None, _.getLong(_))

  def optionalNumber(name: String, comment: String): Parameter[Long] =
    number(name, comment).copy(default = Null)

  def flag(name: String, comment: String): Parameter[Boolean] =
    Parameter(name, BooleanType, comment, Some("false"), _.getBoolean(_))
}

/** The arguments of one call, in the order of the parameters. */
private[procedure] final class Arguments(parameters: Seq[Parameter[_]], row: InternalRow) {

  /** None: null. */
  def get[T](parameter: Parameter[T]): Option[T] = {
    val index = parameters.indexWhere(_.name == parameter.name)
    Option.when(!row.isNullAt(index))(parameter.read(row, index))
  }

  /** @throws Refusal if the argument is null */
  def apply[T](parameter: Parameter[T]): T =
    get(
      parameter
    ).getOrElse(throw new Refusal(s"the argument '${parameter.name}' is NULL, and has to be set"))
}
