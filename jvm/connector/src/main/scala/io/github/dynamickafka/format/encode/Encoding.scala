package io.github.dynamickafka.format.encode

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.format.SideFormat

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
   */
  final case class Fields(
      format: SideFormat,
      schema: StructType,
      columns: Seq[Expression],
      avro: Option[String] = None
  ) extends SideSource
}

/**
 * How rows become keys and values.
 *
 * @param key None: records have no key
 */
private[dynamickafka] final case class Encoding(value: SideSource, key: Option[SideSource])
