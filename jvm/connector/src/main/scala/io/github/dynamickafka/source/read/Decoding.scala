package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.header.Headers
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.{BinaryType, DataType, Decimal, StringType}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator
import org.apache.spark.{SparkContext, TaskContext}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.{Errors, RecordPlace}
import io.github.dynamickafka.format.MetadataColumn._
import io.github.dynamickafka.format.change.ChangeDecoder
import io.github.dynamickafka.format.table.{Decoders, FormatOptionSpecs, LazyDecoder}
import io.github.dynamickafka.format.{
  ChangeLayout,
  ColumnOrigin,
  DecodeFailure,
  DecodedValues,
  Decoder,
  Layout,
  ParseErrors,
  SideLayout
}
import io.github.dynamickafka.kafka.{KafkaReadContext, ProducerSettings, SharedProducers, SharedSender}

/**
 * What the tasks of a query need to decode records. Sent to executors.
 *
 * @param onAccess whether fields are decoded when they are accessed, where the format and the policy for bad records allow it
 * @param registries what the metadata says about the registry of a cluster, by cluster and stream
 */
private[source] final case class Decoding(
    layout: Layout,
    counts: DecodeCounts,
    deadLetters: Option[DeadLetterTargets] = None,
    onAccess: Boolean = false,
    registries: Map[(String, String), Map[String, String]] = Map.empty
)

/**
 * Bad records of a query since its start. Tasks add, the driver reads. A task that fails adds nothing; one that Spark repeats
 * although it had ended may add twice.
 *
 * @param errors records of which a key or value could not be decoded
 * @param dropped those of them that yielded no row, without dead letters
 */
private[source] final case class DecodeCounts(
    errors: LongAccumulator,
    dropped: LongAccumulator,
    deadLetters: LongAccumulator
)

private[source] object DecodeCounts {
  def apply(context: SparkContext): DecodeCounts =
    DecodeCounts(
      context.longAccumulator("dynamic-kafka decodeErrors"),
      context.longAccumulator("dynamic-kafka droppedRecords"),
      context.longAccumulator("dynamic-kafka deadLetterRecords")
    )
}

/**
 * Decodes the records of one task, whose clusters may have registries of their own. The thread of the task creates and uses it,
 * for all its partitions.
 */
private[source] final class TaskDecoder(val decoding: Decoding) {
  private var decoders = Map.empty[Layout, RecordDecoder]

  /** The rows of the records of a stream on a cluster. */
  def rows(cluster: String, stream: String): RecordRows = {
    val layout = decoding.layout.in(decoding.registries.getOrElse((cluster, stream), Map.empty))
    new DecodedRow(decoder(layout), layout, cluster, stream)
  }

  /** Whether a record may have several rows. */
  def several: Boolean = decoding.layout.value.change.isDefined

  /** At the end of the records: waits until all dead letters are stored. */
  def finish(): Unit = decoders.valuesIterator.foreach(_.finish())

  private def decoder(layout: Layout): RecordDecoder = decoders.getOrElse(
    layout, {
      val created = new RecordDecoder(decoding, layout)
      decoders += layout -> created
      created
    }
  )
}

/**
 * A decoded record as a row, with the columns of a [[Layout]]. One object is reused for all records of a partition. It is a
 * view, so that Spark copies the values once.
 */
private[source] final class DecodedRow(
    decoder: RecordDecoder,
    layout: Layout,
    cluster: String,
    stream: String
) extends BaseGenericInternalRow
    with RecordRows {

  /** For each column, where its value is, and at which index; without values it is metadata with this code. */
  private val sources: Array[DecodedValues] = layout.columns.map(_.origin match {
    case ColumnOrigin.OfKey(_) => decoder.keys
    case ColumnOrigin.OfValue(_) => decoder.values
    case ColumnOrigin.OfChange(_) => decoder.changes
    case ColumnOrigin.OfRecord(_) => null
    case ColumnOrigin.CorruptRecord | ColumnOrigin.DecodeError => decoder.corrupt
  }).toArray
  private val slots: Array[Int] = layout.columns.map(_.origin match {
    case ColumnOrigin.OfKey(index) => index
    case ColumnOrigin.OfValue(index) => index
    case ColumnOrigin.OfChange(index) => index
    case ColumnOrigin.OfRecord(column) => column.code
    case ColumnOrigin.CorruptRecord => 0
    case ColumnOrigin.DecodeError => 1
  }).toArray

  /** For each column, what decodes it when it is accessed; null where it is decoded with the record. */
  private val onAccess: Array[LazyDecoder] = layout.columns.map(_.origin match {
    case ColumnOrigin.OfKey(_) => decoder.lazyKeys
    case ColumnOrigin.OfValue(_) => decoder.lazyValues
    case _ => null
  }).toArray

  private val clusterText = UTF8String.fromString(cluster)
  private val streamText = UTF8String.fromString(stream)
  private var topic = ""
  private var topicText: UTF8String = _
  private var record: ConsumerRecord[Array[Byte], Array[Byte]] = _

  override def of(next: ConsumerRecord[Array[Byte], Array[Byte]]): InternalRow = {
    record = next
    if (next.topic ne topic) {
      topic = next.topic
      topicText = UTF8String.fromString(topic)
    }
    if (decoder.decode(next, cluster, stream)) this else null
  }

  override def more(): InternalRow = if (decoder.more()) this else null

  /** Where the value of a column is, after it has been decoded; null if it is metadata. */
  private def from(i: Int): DecodedValues = {
    val part = onAccess(i)
    if ((part ne null) && !part.has(slots(i))) decoder.access(part, slots(i))
    sources(i)
  }

  override def numFields: Int = slots.length

  override def isNullAt(i: Int): Boolean = {
    val part = from(i)
    if (part ne null) part.isNullAt(slots(i))
    else slots(i) match {
      case KeyCode => record.key == null
      case ValueCode => record.value == null
      case HeadersCode => !record.headers.iterator.hasNext
      case LeaderEpochCode => !record.leaderEpoch.isPresent
      case _ => false
    }
  }

  override def getBoolean(i: Int): Boolean = from(i).getBoolean(slots(i))
  override def getByte(i: Int): Byte = from(i).getLong(slots(i)).toByte
  override def getShort(i: Int): Short = from(i).getLong(slots(i)).toShort
  override def getFloat(i: Int): Float = from(i).getFloat(slots(i))
  override def getDouble(i: Int): Double = from(i).getDouble(slots(i))

  override def getInt(i: Int): Int = {
    val part = from(i)
    if (part ne null) part.getLong(slots(i)).toInt
    else slots(i) match {
      case PartitionCode => record.partition
      case TimestampTypeCode => record.timestampType.id
      case _ => record.leaderEpoch.get.intValue
    }
  }

  override def getLong(i: Int): Long = {
    val part = from(i)
    if (part ne null) part.getLong(slots(i))
    else if (slots(i) == OffsetCode) record.offset
    else RecordRow.micros(record, cluster, stream)
  }

  override def getUTF8String(i: Int): UTF8String = {
    val part = from(i)
    if (part ne null) part.getObject(slots(i)).asInstanceOf[UTF8String]
    else slots(i) match {
      case TopicCode => topicText
      case ClusterCode => clusterText
      case _ => streamText
    }
  }

  override def getBinary(i: Int): Array[Byte] = {
    val part = from(i)
    if (part ne null) part.getObject(slots(i)).asInstanceOf[Array[Byte]]
    else if (slots(i) == KeyCode) record.key
    else record.value
  }

  override def getArray(i: Int): ArrayData = {
    val part = from(i)
    if (part ne null) part.getObject(slots(i)).asInstanceOf[ArrayData] else RecordRow.headers(record)
  }

  override def getDecimal(i: Int, precision: Int, scale: Int): Decimal =
    from(i).getObject(slots(i)).asInstanceOf[Decimal]
  override def getStruct(i: Int, fields: Int): InternalRow =
    from(i).getObject(slots(i)).asInstanceOf[InternalRow]
  override def getMap(i: Int): MapData = from(i).getObject(slots(i)).asInstanceOf[MapData]

  /** Also for the types that have no getter above, among them those that later versions of Spark add. */
  override protected def genericGet(i: Int): Any = {
    val part = from(i)
    if (part ne null) part.get(slots(i))
    else if (isNullAt(i)) null
    else slots(i) match {
      case PartitionCode | TimestampTypeCode | LeaderEpochCode => getInt(i)
      case OffsetCode | TimestampCode => getLong(i)
      case KeyCode | ValueCode => getBinary(i)
      case HeadersCode => getArray(i)
      case _ => getUTF8String(i)
    }
  }

  override def setNullAt(i: Int): Unit = readOnly()
  override def update(i: Int, value: Any): Unit = readOnly()

  private def readOnly(): Nothing =
    throw new UnsupportedOperationException("a decoded record is read-only")
}

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

  private var stream: String = _

  private def place = {
    val record = shown.record
    RecordPlace(stream, shown.cluster, record.topic, record.partition, record.offset)
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
  ): Boolean = {
    shown.record = record
    shown.cluster = cluster
    this.stream = stream
    value.from(cluster)
    if (key ne null) key.from(cluster)
    if (change eq null) judged(record)
    else if (!ChangeDecoder.isEmpty(record.value) && judged(record)) change.next(values)
    else {
      change.clear()
      false
    }
  }

  /**
   * Decodes a field that is accessed, of the record that was decoded last.
   *
   * @param of the values or the keys
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException DECODE_FAILED
   */
  def access(of: LazyDecoder, field: Int): Unit = {
    val bad = of.decode(field)
    if (bad ne null) {
      decoding.counts.errors.add(1L)
      val record = shown.record
      val _ = if (of eq lazyValues) value.judge(bad, record.value) else key.judge(bad, record.key)
    }
  }

  /** @return whether the rows of the record are kept */
  private def judged(record: ConsumerRecord[Array[Byte], Array[Byte]]): Boolean = {
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
      // In the order of the columns of a bad record: the value's come last, so that they are seen.
      val dropsKey = (badKey ne null) && !key.judge(badKey, record.key)
      val dropsValue = (badValue ne null) && !value.judge(badValue, record.value)
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

  /** What is bad about the key: an upsert requires one. */
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
    def judge(failure: DecodeFailure, bytes: Array[Byte]): Boolean =
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
  private val NoKey = DecodeFailure("it is null, and an upsert requires a key")
  private val NoTime = DecodeFailure(RecordRow.NoTime)
  private val NullKey =
    DecodeFailure("all of its fields are null, and an upsert requires a key")

  private val NoValues = new DecodedValues(Array.empty[DataType])
}

/**
 * Where bad records are written. Sent to executors.
 *
 * @param cluster None: the cluster of the record
 * @param producers by cluster
 * @param refused why none can be written to the chosen cluster; not a reason to end a query that may have none
 */
private[source] final case class DeadLetterTargets(
    topic: String,
    cluster: Option[String],
    producers: Map[String, ProducerSettings],
    refused: Option[String] = None
)

/**
 * Writes the bad records of one task to the dead letter topic. Used by the thread of the task, which ends only when they are
 * stored.
 */
private[source] final class DeadLetters(targets: DeadLetterTargets) {
  private var sender: Option[SharedSender] = None

  def send(record: ConsumerRecord[Array[Byte], Array[Byte]], place: RecordPlace, reason: String): Unit = {
    for (why <- targets.refused; id <- targets.cluster)
      throw Errors.invalidOption(
        FormatOptionSpecs.DeadLetterCluster.name,
        id,
        s"$why. A record of cluster '${place.cluster}', topic '${place.topic}', partition ${place.partition}, offset " +
          s"${place.offset} is a dead letter: $reason."
      )
    val headers = new RecordHeaders(record.headers)
    Seq(
      "reason" -> reason,
      "stream" -> place.stream,
      "cluster" -> place.cluster,
      "topic" -> place.topic,
      "partition" -> place.partition.toString,
      "offset" -> place.offset.toString
    ).foreach { case (name, text) => headers.add(s"dynamic-kafka-$name", text.getBytes(UTF_8)) }
    // A record of the oldest formats has no timestamp.
    val timestamp = Option.when(record.timestamp >= 0)(Long.box(record.timestamp)).orNull
    val letter = new ProducerRecord(targets.topic, null, timestamp, record.key, record.value, headers)
    sender.getOrElse(begin()).send(targets.cluster.getOrElse(place.cluster), letter)
  }

  /** Waits until all of them are stored. Throws an exception if one of them is not. */
  def finish(): Unit = sender.foreach { s =>
    val _ = s.commit()
  }

  private def begin(): SharedSender = {
    val made = new SharedSender(targets.producers, SharedProducers.shared, waits = true, Clock.System)
    sender = Some(made)
    // Spark may stop reading before the end of a batch: its offsets count as read all the same.
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit] { task =>
      try if (!task.isFailed() && !task.isInterrupted()) finish()
      finally {
        sender = None
        made.close()
      }
    })
    made
  }
}
