package io.github.dynamickafka.format.avro

import java.io.ByteArrayOutputStream
import java.{util => ju}

import org.apache.avro.data.TimeConversions
import org.apache.avro.generic.IndexedRecord
import org.apache.avro.io.{BinaryEncoder, EncoderFactory}
import org.apache.avro.specific.{SpecificData, SpecificDatumWriter}
import org.apache.avro.{Conversions, Schema}
import org.apache.spark.sql.avro.{DynamicKafkaAvro, SchemaConverters}
import org.apache.spark.sql.catalyst.InternalRow

import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.format.{AvroSchemas, DecodedValues, SideLayout}

/**
 * Avro records of another library as columns. They are encoded with their own schema and decoded as all others, so that generated
 * classes, objects for logical types, units and scales are treated alike. Not thread-safe.
 */
private[dynamickafka] final class AvroRecords(side: SideLayout) {
  import AvroRecords._

  private val reader: Option[Schema] = side.avro.map(RegistryAvro.parse)
  // Types that Avro does not have are found when this is created.
  private val declared =
    reader.getOrElse(SchemaConverters.toAvroType(side.schema, nullable = false, "topLevelRecord", ""))
  AvroBody(declared, declared, side)

  private val written = new ju.HashMap[Schema, Either[String, Written]]
  private val bytes = new ByteArrayOutputStream
  private var encoder: BinaryEncoder = _

  // Most records have the schema of the one before.
  private var lastSchema: Schema = _
  private var last: Either[String, Written] = _

  /** @return null if the record is good, otherwise the reason, which contains nothing of the record */
  def show(record: IndexedRecord, into: DecodedValues): String = {
    if (record.getSchema ne lastSchema) {
      lastSchema = record.getSchema
      last = written.computeIfAbsent(lastSchema, make(_))
    }
    last match {
      case Left(reason) => reason
      case Right(Written(writer, body)) =>
        bytes.reset()
        encoder = EncoderFactory.get().directBinaryEncoder(bytes, encoder)
        writer.write(record, encoder)
        encoder.flush()
        body.decode(bytes.toByteArray, 0, into)
    }
  }

  private def make(schema: Schema): Either[String, Written] =
    ConfluentAvroDecoder.resolved(schema, reader.getOrElse(schema)).map(_ =>
      Written(
        new SpecificDatumWriter[IndexedRecord](schema, model),
        AvroBody(schema, reader.getOrElse(schema), side)
      )
    )
}

private[dynamickafka] object AvroRecords {
  private final case class Written(writer: SpecificDatumWriter[IndexedRecord], body: AvroBody)

  /** Records may have objects for logical types, which depends on how they were made. */
  private val model: SpecificData = {
    val data = new SpecificData
    Seq(
      new Conversions.DecimalConversion,
      new Conversions.UUIDConversion,
      new TimeConversions.DateConversion,
      new TimeConversions.TimeMillisConversion,
      new TimeConversions.TimeMicrosConversion,
      new TimeConversions.TimestampMillisConversion,
      new TimeConversions.TimestampMicrosConversion,
      new TimeConversions.LocalTimestampMillisConversion,
      new TimeConversions.LocalTimestampMicrosConversion
    ).foreach(data.addLogicalTypeConversion(_))
    data
  }

  /** Rows of these fields as Avro records. */
  def writer(fields: Fields): InternalRow => AnyRef = {
    val schema = fields.avro.fold(AvroSchemas.of(fields.schema))(RegistryAvro.parse)
    val toRecord = DynamicKafkaAvro.serializer(schema, fields.schema)
    row => toRecord(row).asInstanceOf[AnyRef]
  }
}
