package io.github.dynamickafka.format.json

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

private[format] object Utf8 {

  /** Most records are ASCII, which is recognized eight bytes at a time. */
  def isValid(bytes: Array[Byte]): Boolean = isAscii(bytes) || UTF8String.fromBytes(bytes).isValid

  private def isAscii(bytes: Array[Byte]): Boolean = {
    val words = bytes.length & ~7
    var i = 0
    var bits = 0L
    while (i < words) {
      bits |= Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + i)
      i += 8
    }
    while (i < bytes.length) {
      bits |= bytes(i).toLong
      i += 1
    }
    (bits & 0x8080808080808080L) == 0L
  }
}
