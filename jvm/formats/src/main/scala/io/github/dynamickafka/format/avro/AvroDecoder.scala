package io.github.dynamickafka.format.avro

import org.apache.avro.Schema

import io.github.dynamickafka.format.{AvroSchemas, DecodeFailure, DecodedValues, Decoder, SideLayout}

/** Decodes Avro's binary encoding without a header, with the results of Spark's `from_avro`. */
private[format] final class AvroDecoder(side: SideLayout) extends Decoder {
  private val schema: Schema = side.avro.fold(AvroSchemas.of(side.schema))(new Schema.Parser().parse(_))
  private val body = AvroBody(schema, schema, side)

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    val reason = body.decode(bytes, 0, into)
    if (reason eq null) null else DecodeFailure(reason, None, unparsable = true)
  }
}
