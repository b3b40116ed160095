package io.github.dynamickafka.serde

import scala.util.control.NonFatal

import org.apache.avro.generic.IndexedRecord
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.serialization.Deserializer
import org.apache.spark.sql.types.DataType

import io.github.dynamickafka.format.avro.AvroRecords
import io.github.dynamickafka.format.{
  DecodeFailure,
  DecodedValues,
  Decoder,
  Format,
  FormatSetting,
  ReadContext,
  SideLayout
}

/** A record of Kafka's client that is read. */
private[dynamickafka] trait KafkaReadContext extends ReadContext {
  def kafkaHeaders: Headers
}

/** Reads with a class of Kafka's interface: one column, or the columns of Avro records. */
private[serde] final case class DeserializerFormat(of: SerdeClass) extends Format(of.option) {
  override def wholeTypes: Seq[DataType] = of.column.map(_.dataType).toSeq
  override def canFail: Boolean = true
  override def decodesFields: Boolean = false
  override def withoutSchema: Option[String] = of.withoutSchema
  override def setting(name: String): Option[FormatSetting] =
    Some(FormatSetting(name, FormatSetting.anything))
  override def decoder(side: SideLayout): Decoder = new DeserializerDecoder(of, side)
}

private[serde] final class DeserializerDecoder(of: SerdeClass, side: SideLayout) extends Decoder {
  private val deserializer = new ConfiguredClass[Deserializer[_]](
    of,
    classOf[Deserializer[_]],
    side.format.options,
    (created, properties, isKey) => created.configure(properties, isKey)
  )
  private val column = of.column
  private lazy val records = new AvroRecords(side)
  if (column.isEmpty) records
  private var context: KafkaReadContext = _

  override def within(shown: ReadContext): Unit = shown match {
    case ofKafka: KafkaReadContext => context = ofKafka
    case _ => ()
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    // Outside of the handler: an instance that cannot be created is no bad record.
    val created = deserializer.get()
    val reason =
      try show(created.deserialize(context.topic, context.kafkaHeaders, bytes), into)
      catch {
        case e: InterruptException => throw e
        // Its message may contain a part of the record.
        case NonFatal(e) => s"${of.className} threw ${e.getClass.getSimpleName}"
      }
    if (reason eq null) null
    else {
      into.clear()
      DecodeFailure(reason, None, unparsable = true)
    }
  }

  /** @return null if the value has the type of the columns */
  private def show(value: Any, into: DecodedValues): String = (value, column) match {
    case (null, _) => null
    case (some: AnyRef, Some(whole)) =>
      if (side.wanted.nonEmpty) into.setAny(0, whole.toCatalyst(some))
      null
    case (record: IndexedRecord, None) => records.show(record, into)
    case (other, _) => s"${of.className} returned ${other.getClass.getName}, which is no Avro record"
  }

  override def close(): Unit = deserializer.close()
}
