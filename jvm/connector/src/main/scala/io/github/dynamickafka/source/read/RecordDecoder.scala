package io.github.dynamickafka.source.read

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.Headers
import org.apache.spark.sql.types.{BinaryType, DataType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.{Errors, RecordPlace}
import io.github.dynamickafka.format.change.ChangeDecoder
import io.github.dynamickafka.format.table.{Decoders, LazyDecoder}
import io.github.dynamickafka.format.{
  ChangeLayout,
  DecodeFailure,
  DecodedValues,
  Decoder,
  Layout,
  ParseErrors,
  SideLayout
}
import io.github.dynamickafka.serde.KafkaReadContext

/**
 * Decodes the records of one task that have one layout, and decides what happens to bad ones. The thread of the task creates
 * and uses it.
 */
private[read] final class RecordDecoder(decoding: Decoding, layout: Layout) {
  import RecordDecoder._

  private val shown = new ShownRecord
  private val change = layout.value.change.map(_ => new ChangeDecoder(layout.value)).orNull
  private val value = new Side(layout.value, "value", isEager = false)
  private val key = layout.key.map(new Side(_, "key", isEager = layout.upsert)).orNull
  private val upserts = if (layout.upsert) new DecodedValues(Array[DataType](StringType)) else null

  val values: DecodedValues = value.values
  val keys: DecodedValues = if (key eq null) NoValues else key.values

  /** The kind of the change that a row is a part of, and metadata of the format. */
  val changes: DecodedValues =
    if (change ne null) change.about else if (upserts ne null) upserts else NoValues

  /** Null: the fields are decoded with the record. */
  val lazyValues: LazyDecoder = value.onAccess
  val lazyKeys: LazyDecoder = if (key eq null) null else key.onAccess

  /** The bytes and the error of a bad record. */
  val corrupt: DecodedValues = new DecodedValues(Array[DataType](BinaryType, StringType))

  /** The record that follows, and its cluster. */
  def from(record: ConsumerRecord[Array[Byte], Array[Byte]], cluster: String): Unit = {
    shown.record = record
    shown.cluster = cluster
    value.from(cluster)
    if (key ne null) key.from(cluster)
  }

  /** Shows the next row of the record; false if there is none. */
  def more(): Boolean = (change ne null) && change.next(values)

  /**
   * Shows the first row of a record.
   *
   * @return whether the record yields a row
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException DECODE_FAILED
   */
  def decode(
      record: ConsumerRecord[Array[Byte], Array[Byte]],
      cluster: String,
      stream: String
  ): Boolean =
    if ((change ne null) && ChangeDecoder.isEmpty(record.value)) {
      change.clear()
      false
    } else if (judged(record, cluster, stream)) (change eq null) || change.next(values)
    else {
      if (change ne null) change.clear()
      false
    }

  /**
   * Decodes a field that is accessed, of the record that was decoded last.
   *
   * @param of the values or the keys
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException DECODE_FAILED
   */
  def access(
      of: LazyDecoder,
      field: Int,
      record: ConsumerRecord[Array[Byte], Array[Byte]],
      cluster: String,
      stream: String
  ): Unit = {
    val bad = of.decode(field)
    if (bad ne null) {
      decoding.counts.errors.add(1L)
      val place = RecordPlace(stream, cluster, record.topic, record.partition, record.offset)
      val _ =
        if (of eq lazyValues) value.judge(bad, record.value, place, corrupt)
        else key.judge(bad, record.key, place, corrupt)
    }
  }

  /** @return whether the rows of the record are kept */
  private def judged(
      record: ConsumerRecord[Array[Byte], Array[Byte]],
      cluster: String,
      stream: String
  ): Boolean = {
    corrupt.clear()
    val badValue =
      if (layout.value.format.parseErrors.drops && !RecordRow.hasTime(record)) NoTime
      else value.decode(record.value)
    val badKey = if (key eq null) null else badPart(record.key)
    if (upserts ne null) {
      val isKnown = (badKey eq null) && ((badValue eq null) || !badValue.unparsable)
      upserts.setObject(
        ChangeLayout.TypeIndex,
        if (!isKnown) null else if (record.value == null) Delete else Postimage
      )
    }
    ((badValue eq null) && (badKey eq null)) || {
      decoding.counts.errors.add(1L)
      val place = RecordPlace(stream, cluster, record.topic, record.partition, record.offset)
      // In the order of the columns of a bad record: the value's come last, so that they are seen.
      val dropsKey = (badKey ne null) && !key.judge(badKey, record.key, place, corrupt)
      val dropsValue = (badValue ne null) && !value.judge(badValue, record.value, place, corrupt)
      val drops = dropsKey || dropsValue
      if (isLetter(layout.value, badValue) || layout.key.exists(isLetter(_, badKey))) {
        val reasons = Seq("key" -> badKey, "value" -> badValue).collect {
          case (side, bad) if bad ne null =>
            text(side, bad)
        }
        hasLetters = true
        letters.send(record, place, reasons.mkString("; "))
        decoding.counts.deadLetters.add(1L)
      } else if (drops) decoding.counts.dropped.add(1L)
      !drops
    }
  }

  /** Of the key: an upsert requires one. */
  private def badPart(bytes: Array[Byte]): DecodeFailure =
    if (upserts eq null) key.decode(bytes)
    else if (bytes == null) {
      key.values.clear()
      NoKey
    } else {
      val bad = key.decode(bytes)
      if ((bad eq null) && layout.key.get.wanted.forall(key.values.isNullAt)) NullKey else bad
    }

  private lazy val letters = new DeadLetters(decoding.deadLetters.getOrElse(
    throw new IllegalStateException("no target for dead letters")
  ))
  private var hasLetters = false

  /** At the end of the records: waits until all dead letters are stored. */
  def finish(): Unit = if (hasLetters) letters.finish()

  private def isLetter(side: SideLayout, bad: DecodeFailure) =
    (bad ne null) && side.format.parseErrors == ParseErrors.DeadLetter

  private final class Side(side: SideLayout, name: String, isEager: Boolean) {
    val values = new DecodedValues(side.types)
    val onAccess: LazyDecoder =
      if (decoding.onAccess && !isEager && LazyDecoder.fits(side))
        new LazyDecoder(side, values, Decoders.of(_, shown))
      else null
    private val decoder: Decoder =
      if (side.change.isDefined) change
      else if (side.wanted.isEmpty || (onAccess ne null)) null
      else Decoders.of(side, shown)

    def decode(bytes: Array[Byte]): DecodeFailure =
      if (onAccess ne null) {
        onAccess.begin(bytes)
        null
      } else if (decoder eq null) null
      else if (bytes == null) {
        values.clear()
        null
      } else decoder.decode(bytes, values)

    def from(cluster: String): Unit =
      if (onAccess ne null) onAccess.from(cluster) else if (decoder ne null) decoder.from(cluster)

    /** @return whether the record yields a row */
    def judge(
        failure: DecodeFailure,
        bytes: Array[Byte],
        place: RecordPlace,
        corrupt: DecodedValues
    ): Boolean =
      side.format.parseErrors match {
        case ParseErrors.Fail =>
          throw Errors.decodeFailed(
            place,
            name,
            side.format.format.name,
            failure.field,
            failure.reason,
            failure.schemaId
          )
        case ParseErrors.Nulls => true
        case ParseErrors.Drop | ParseErrors.DeadLetter => false
        case ParseErrors.Ignore => !failure.unparsable
        case ParseErrors.Keep =>
          corrupt.setObject(0, bytes)
          corrupt.setObject(1, UTF8String.fromString(text(name, failure)))
          true
      }
  }
}

/** Shows the records of a task to formats. */
private final class ShownRecord extends KafkaReadContext {
  var record: ConsumerRecord[Array[Byte], Array[Byte]] = _
  var cluster: String = _
  override def topic: String = record.topic
  override def kafkaHeaders: Headers = record.headers
  override def headers: Iterator[(String, Array[Byte])] =
    record.headers.iterator.asScala.map(header => header.key -> header.value)
}

private[source] object RecordDecoder {
  private def text(side: String, failure: DecodeFailure) =
    s"$side${failure.field.fold("")(f => s", field '$f'")}${failure.schemaId.fold("")(id =>
        s", schema id $id"
      )}: ${failure.reason}"

  private val Postimage = UTF8String.fromString("update_postimage")
  private val Delete = UTF8String.fromString("delete")
  private val NoKey = DecodeFailure("it is null, and an upsert requires a key", None, unparsable = true)
  private val NoTime = DecodeFailure(RecordRow.NoTime, None, unparsable = true)
  private val NullKey =
    DecodeFailure("all of its fields are null, and an upsert requires a key", None, unparsable = true)

  private val NoValues = new DecodedValues(Array.empty[DataType])
}
