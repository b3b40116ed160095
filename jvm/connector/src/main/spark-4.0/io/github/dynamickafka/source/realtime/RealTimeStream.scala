package io.github.dynamickafka.source.realtime

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader

/** A stream that can be read in real-time mode. Spark 4.0 has none. */
private[source] trait RealTimeStream {
  protected def realTime: RealTimeBatches
}

private[source] object RealTimeReaders {
  def of(@annotation.unused reader: => RealTimeReader): PartitionReader[InternalRow] =
    throw new UnsupportedOperationException("Spark 4.0 has no real-time mode")
}
