package io.github.dynamickafka.format

import org.apache.spark.sql.catalyst.expressions.{CreateNamedStruct, Expression, Literal}
import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Where keys or values come from. Sent to executors. */
private[dynamickafka] sealed trait SideSource extends Product with Serializable

private[dynamickafka] object SideSource {

  /**
   * A column has the bytes.
   *
   * @param index in the rows of the query
   * @param dataType STRING or BINARY
   */
  final case class Column(index: Int, dataType: DataType) extends SideSource

  /**
   * Columns are encoded.
   *
   * @param schema the fields, with the names that they have in the bytes
   * @param columns the values of the fields, bound to the rows of the query
   * @param avro the Avro schema as JSON, if it was given
   * @param registered the schema as a registry has it, if it was taken from there
   * @param change the kind of the change, in a format of changes; None: all rows are inserted
   */
  final case class Fields(
      format: SideFormat,
      schema: StructType,
      columns: Seq[Expression],
      avro: Option[String] = None,
      registered: Option[RegisteredSchema] = None,
      change: Option[Expression] = None
  ) extends SideSource {

    /** What the encoder gets of a row: the fields, or, of a change, a struct of them and the kind. */
    def input: Seq[Expression] =
      if (!format.format.isChange) columns
      else {
        val row = schema.zip(columns).flatMap { case (field, column) => Seq(Literal(field.name), column) }
        Seq(CreateNamedStruct(row), change.getOrElse(Literal("insert")))
      }
  }
}
