package io.github.dynamickafka.format.encode

import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.format.{FormatOptions, SideFormat}
import io.github.dynamickafka.schemaregistry.{Frame, RegisteredSchema}

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
   */
  final case class Fields(
      format: SideFormat,
      schema: StructType,
      columns: Seq[Expression],
      avro: Option[String] = None,
      registered: Option[RegisteredSchema] = None
  ) extends SideSource
}

/**
 * How rows become keys and values.
 *
 * @param key None: records have no key
 * @param frames what precedes keys and values in formats with a registry
 */
private[dynamickafka] final case class Encoding(
    value: SideSource,
    key: Option[SideSource],
    frames: Seq[Frame] = Nil
) {

  /** The same bytes, with the ids of the registries of these formats. */
  def in(formats: FormatOptions): Encoding = copy(frames =
    frames.map(frame =>
      frame.copy(registries =
        if (frame.ofKeys) formats.key.fold(frame.registries)(_.registries) else formats.value.registries
      )
    )
  )
}
