package io.github.dynamickafka.latency

import java.nio.ByteBuffer
import java.time.Instant

/** The value of a record: when it was sent, and the number of its cluster. */
private[latency] object SentRecord {
  private val HeaderBytes = java.lang.Long.BYTES + java.lang.Integer.BYTES

  /** Nanoseconds since 1970: the processes of a machine share this clock. */
  def now(): Long = {
    val instant = Instant.now()
    instant.getEpochSecond * 1000000000L + instant.getNano
  }

  def of(sent: Long, cluster: Int, bytes: Int): Array[Byte] =
    ByteBuffer.allocate(bytes.max(HeaderBytes)).putLong(sent).putInt(cluster).array()

  def sent(value: Array[Byte]): Long = ByteBuffer.wrap(value).getLong
  def cluster(value: Array[Byte]): Int = ByteBuffer.wrap(value).getInt(java.lang.Long.BYTES)
}
