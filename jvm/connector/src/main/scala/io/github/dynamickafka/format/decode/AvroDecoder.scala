package io.github.dynamickafka.format.decode

import scala.util.control.NonFatal

import org.apache.avro.Schema
import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.io.{BinaryDecoder, DecoderFactory}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.{AvroSchemas, SideLayout}

/** Decodes Avro's binary encoding without a header, with the results of Spark's `from_avro`. */
private[decode] final class AvroDecoder(side: SideLayout) extends Decoder {
  private val wanted: Array[Int] = side.wanted.toArray
  private val wantedSchema = StructType(wanted.map(side.schema(_)))

  private val schema: Schema = side.avro.fold(AvroSchemas.of(side.schema))(new Schema.Parser().parse(_))
  private val reader = new GenericDatumReader[Any](schema)
  private val toRow = DynamicKafkaAvro.deserializer(schema, wantedSchema, side.format.options)
  private var decoder: BinaryDecoder = _
  private var record: Any = _

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      decoder = DecoderFactory.get().binaryDecoder(bytes, 0, bytes.length, decoder)
      record = reader.read(record, decoder)
      if (!decoder.isEnd) DecodeFailure("bytes are left after the record", None, unparsable = true)
      else {
        toRow(record).foreach(row => copy(row.asInstanceOf[InternalRow], into))
        null
      }
    } catch {
      case NonFatal(_) =>
        // Their state is unknown.
        decoder = null
        record = null
        into.clear()
        DecodeFailure("it is not an Avro record of the schema", None, unparsable = true)
    }
  }

  private def copy(row: InternalRow, into: DecodedValues): Unit = {
    var i = 0
    while (i < wanted.length) {
      into.setAny(wanted(i), row.get(i, wantedSchema(i).dataType))
      i += 1
    }
  }
}
