package io.github.dynamickafka.format

import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** The bytes, or, in Flink's `raw`, a text. */
private[dynamickafka] object Raw extends Format("raw") {
  override def wholeTypes: Seq[DataType] = Seq(BinaryType, StringType)
  override def isBytes: Boolean = true

  override def decoder(side: SideLayout): Decoder =
    if (side.schema.headOption.exists(_.dataType == StringType)) Text.decoder(side)
    else (bytes, into) => WholeColumn.set(bytes, into)

  override def writer: Option[FormatWriter] = Some(WholeColumn)
}

private[dynamickafka] object Text extends Format("string") {
  override def wholeTypes: Seq[DataType] = Seq(StringType)

  override def decoder(side: SideLayout): Decoder =
    (bytes, into) => WholeColumn.set(UTF8String.fromBytes(bytes), into)

  override def writer: Option[FormatWriter] = Some(WholeColumn)
}

private object WholeColumn extends FormatWriter {

  def set(value: AnyRef, into: DecodedValues): DecodeFailure = {
    into.setObject(0, value)
    null
  }

  /** The bytes of the column are written as they are, without an encoder. */
  override def encoder(fields: SideSource.Fields): Encoder =
    throw new IllegalArgumentException(s"${fields.format.format.name} has no fields")
}
