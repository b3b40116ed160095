package io.github.dynamickafka.format.encode

import org.apache.spark.sql.catalyst.InternalRow

/** Encodes the fields of keys or values. Used by one task. Not thread-safe. */
private[dynamickafka] trait Encoder {
  def encode(row: InternalRow): Array[Byte]
}
