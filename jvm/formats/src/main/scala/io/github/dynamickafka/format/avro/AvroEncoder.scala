package io.github.dynamickafka.format.avro

import java.io.ByteArrayOutputStream

import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumWriter
import org.apache.avro.io.{BinaryEncoder, EncoderFactory}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.catalyst.InternalRow

import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.format.{AvroSchemas, Encoder}

/** Encodes fields in Avro's binary encoding without a header, by Spark's serializer, as `to_avro` does. */
private[format] final class AvroEncoder(side: Fields) extends Encoder {
  private val schema: Schema =
    side.avro.fold(AvroSchemas.of(side.schema))(RegistryAvro.parse)
  private val toRecord = DynamicKafkaAvro.serializer(schema, side.schema)
  private val writer = new GenericDatumWriter[Any](schema)
  private val bytes = new ByteArrayOutputStream
  private var encoder: BinaryEncoder = _

  override def encode(row: InternalRow): Array[Byte] = {
    bytes.reset()
    encoder = EncoderFactory.get().directBinaryEncoder(bytes, encoder)
    writer.write(toRecord(row), encoder)
    encoder.flush()
    bytes.toByteArray
  }
}
