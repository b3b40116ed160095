package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.{Errors, RecordPlace}
import io.github.dynamickafka.format.decode.{DecodeFailure, DecodedValues, Decoder, Decoders}
import io.github.dynamickafka.format.{Layout, ParseErrors, SideLayout}

/**
 * Decodes the records of one task, and decides what happens to bad ones. The thread of the task creates and uses it, for all
 * its partitions.
 */
private[source] final class RecordDecoder(val decoding: Decoding) {
  import RecordDecoder._

  private val layout = decoding.layout
  private val value = new Side(layout.value, "value")
  private val key = layout.key.map(new Side(_, "key")).orNull

  val values: DecodedValues = value.values
  val keys: DecodedValues = if (key eq null) NoValues else key.values

  /** The bytes and the error of a bad record. */
  val corrupt: DecodedValues = new DecodedValues(Array[DataType](BinaryType, StringType))

  /** Decoders of clusters with another format. */
  private var others = Map.empty[Layout, RecordDecoder]

  def rows(cluster: String, stream: String): RecordRows =
    decoding.ofClusters.get((
      cluster,
      stream
    )).fold[RecordRows](new DecodedRow(this, layout, cluster, stream)) {
      own =>
        if (!others.contains(own)) others += own -> new RecordDecoder(Decoding(own, decoding.counts))
        others(own).rows(cluster, stream)
    }

  /**
   * @return whether the record yields a row
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException DECODE_FAILED
   */
  def decode(
      record: ConsumerRecord[Array[Byte], Array[Byte]],
      cluster: String,
      stream: String
  ): Boolean = {
    corrupt.clear()
    val badValue = value.decode(record.value)
    val badKey = if (key eq null) null else key.decode(record.key)
    ((badValue eq null) && (badKey eq null)) || {
      decoding.counts.errors.add(1L)
      val place = RecordPlace(stream, cluster, record.topic, record.partition, record.offset)
      // In the order of the columns of a bad record: the value's come last, so that they are seen.
      val keeps = (badKey ne null) && !key.judge(badKey, record.key, place, corrupt)
      val keepsValue = (badValue ne null) && !value.judge(badValue, record.value, place, corrupt)
      val drops = keeps || keepsValue
      if (drops) decoding.counts.dropped.add(1L)
      !drops
    }
  }

  private final class Side(side: SideLayout, name: String) {
    val values = new DecodedValues(side.types)
    private val decoder: Decoder = if (side.wanted.isEmpty) null else Decoders.of(side)

    def decode(bytes: Array[Byte]): DecodeFailure =
      if (decoder eq null) null
      else if (bytes == null) {
        values.clear()
        null
      } else decoder.decode(bytes, values)

    /** @return whether the record yields a row */
    def judge(
        failure: DecodeFailure,
        bytes: Array[Byte],
        place: RecordPlace,
        corrupt: DecodedValues
    ): Boolean =
      side.format.parseErrors match {
        case ParseErrors.Fail =>
          throw Errors.decodeFailed(place, name, side.format.format.name, failure.field, failure.reason)
        case ParseErrors.Nulls => true
        case ParseErrors.Drop => false
        case ParseErrors.Ignore => !failure.unparsable
        case ParseErrors.Keep =>
          corrupt.setObject(0, bytes)
          corrupt.setObject(1, UTF8String.fromString(text(failure)))
          true
      }

    private def text(failure: DecodeFailure) =
      s"$name${failure.field.fold("")(f => s", field '$f'")}: ${failure.reason}"
  }
}

private[source] object RecordDecoder {
  private val NoValues = new DecodedValues(Array.empty[DataType])

  /** One value that is always null. */
  private[read] val Nulls: DecodedValues = {
    val values = new DecodedValues(Array[DataType](StringType))
    values.clear()
    values
  }
}
