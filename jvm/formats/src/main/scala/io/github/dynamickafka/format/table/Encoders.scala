package io.github.dynamickafka.format.table

import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.format.{Encoder, FormatWriter, TaskResource, WriteContext}

/** Makes the encoder of keys or values, for one task. */
private[dynamickafka] object Encoders {

  /** @param context shows the records, one after the other */
  def of(fields: Fields, context: WriteContext = null): Encoder = {
    val encoder = writer(fields).encoder(fields)
    encoder.within(context)
    TaskResource.closeAtEnd(() => encoder.close())
    encoder
  }

  private def writer(fields: Fields): FormatWriter = fields.format.format.writer.getOrElse(
    throw new IllegalArgumentException(s"${fields.format.format.name} is for reading only")
  )

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
    val problem = Variants.problem(side.format.format, side.schema).orElse {
      try {
        writer(side).encoder(side).close()
        writer(side).problem(side)
      } catch { case NonFatal(e) => Some(String.valueOf(e.getMessage)) }
    }
    problem.foreach(refuse)
  }

  private def text(side: Fields, reason: String) =
    s"the format '${side.format.format.name}' with its options cannot have the columns ${side.schema.toDDL}: $reason"

  /** The first column that cannot be written by itself. */
  private def unsupported(side: Fields): Option[String] = side.schema.fields.find { field =>
    val alone = side.copy(schema = StructType(Seq(field)), avro = None)
    try {
      writer(alone).encoder(alone).close()
      Variants.problem(alone.format.format, alone.schema).isDefined || writer(alone).problem(alone).isDefined
    } catch { case NonFatal(_) => true }
  }.map(_.name)
}
