package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.SparkContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types.Decimal
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator

import io.github.dynamickafka.format.MetadataColumn._
import io.github.dynamickafka.format.table.LazyDecoder
import io.github.dynamickafka.format.{ColumnOrigin, DecodedValues, Layout}

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
    decoder.from(next, cluster)
    if (decoder.decode(next, cluster, stream)) this else null
  }

  override def more(): InternalRow = if (decoder.more()) this else null

  /** Where the value of a column is, after it has been decoded; null if it is metadata. */
  private def from(i: Int): DecodedValues = {
    val part = onAccess(i)
    if ((part ne null) && !part.has(slots(i))) decoder.access(part, slots(i), record, cluster, stream)
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
