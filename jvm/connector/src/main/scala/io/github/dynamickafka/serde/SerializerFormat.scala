package io.github.dynamickafka.serde

import scala.jdk.CollectionConverters._

import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.serialization.Serializer
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.DataType

import io.github.dynamickafka.format.avro.AvroRecords
import io.github.dynamickafka.format.{
  Decoder,
  Encoder,
  Format,
  FormatSetting,
  FormatWriter,
  SideLayout,
  SideSource,
  WriteContext
}

/** Writes with a class of Kafka's interface: one column, or columns as Avro records. */
private[serde] final case class SerializerFormat(of: SerdeClass) extends Format(of.option) {
  override def wholeTypes: Seq[DataType] = of.column.map(_.dataType).toSeq
  override def writer: Option[FormatWriter] = Some(SerializerWriter(of))

  override def decoder(side: SideLayout): Decoder =
    throw new IllegalArgumentException(s"$name is for writing only")
}

private[serde] final case class SerializerWriter(of: SerdeClass) extends FormatWriter {
  override def encodesWhole: Boolean = of.column.isDefined
  override def setting(name: String): Option[FormatSetting] =
    Some(FormatSetting(name, FormatSetting.anything))
  override def encoder(fields: SideSource.Fields): Encoder = new SerializerEncoder(of, fields)
}

private[serde] final class SerializerEncoder(of: SerdeClass, fields: SideSource.Fields) extends Encoder {
  private val serializer = new ConfiguredClass[Serializer[_]](
    of,
    classOf[Serializer[_]],
    fields.format.options,
    (created, properties, isKey) => created.configure(properties, isKey)
  )
  private val toJava: InternalRow => AnyRef = of.column.fold(AvroRecords.writer(fields)) { column => row =>
    if (row.isNullAt(0)) null else column.toJava(row.get(0, column.dataType))
  }
  private var context: WriteContext = _

  override def within(shown: WriteContext): Unit = context = shown

  override def encode(row: InternalRow): Array[Byte] = {
    val value = toJava(row)
    if (value eq null) null
    else {
      val headers = new RecordHeaders
      val bytes = serializer.get().asInstanceOf[Serializer[AnyRef]].serialize(context.topic, headers, value)
      headers.asScala.foreach(header => context.addHeader(header.key, header.value))
      bytes
    }
  }

  override def close(): Unit = serializer.close()
}
