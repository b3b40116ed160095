package io.github.dynamickafka.schemaregistry

import java.nio.ByteBuffer

/** Confluent's wire format: a byte 0, the id of the schema in four bytes, the payload. Pure. */
private[dynamickafka] object WireFormat {
  final val Magic = 0
  final val HeaderLength = 5

  /** Whether the bytes begin with a header. */
  def hasHeader(bytes: Array[Byte]): Boolean = bytes.length >= HeaderLength && bytes(0) == Magic

  /** The id of the schema; only of bytes with a header. */
  def id(bytes: Array[Byte]): Int =
    (bytes(1) & 0xff) << 24 | (bytes(2) & 0xff) << 16 | (bytes(3) & 0xff) << 8 | (bytes(4) & 0xff)

  /** @param id of the schema, as the registry gave it */
  def framed(id: Int, payload: Array[Byte]): Array[Byte] =
    ByteBuffer.allocate(HeaderLength + payload.length).put(Magic.toByte).putInt(id).put(payload).array
}
