package io.github.dynamickafka.format

import java.{util => ju}

import io.github.dynamickafka.schemaregistry.WireFormat

/** Decodes what follows the id of a schema by another decoder, for formats that do not need the schema. */
private[format] final class ConfluentHeader(payload: Decoder) extends Decoder {

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val failure = payload.decode(ju.Arrays.copyOfRange(bytes, WireFormat.HeaderLength, bytes.length), into)
      if (failure eq null) null else failure.copy(schemaId = Some(WireFormat.id(bytes)))
    }
}

private[format] object ConfluentHeader {
  val Missing: DecodeFailure =
    DecodeFailure("it does not begin with the id of a schema in a registry", None, unparsable = true)
}
