package io.github.dynamickafka.sink

import scala.collection.mutable

import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.extension.TargetRecord
import io.github.dynamickafka.format.MetadataColumn._
import io.github.dynamickafka.format.table.{
  Encoding,
  FormatOptionSpecs,
  FormatTable,
  Formats,
  RowEncoder,
  SideColumns
}
import io.github.dynamickafka.format.{MetadataColumn, Raw}
import io.github.dynamickafka.schemaregistry.Frame

/**
 * The columns of the rows of a query: those that route a record, and those that are its key and value.
 *
 * @param indices of the columns that route
 * @param clusterOfEach the column with the cluster, if each row has one
 */
private[dynamickafka] final class InputColumns private (
    indices: Map[MetadataColumn, (Int, DataType)],
    encoding: Encoding,
    val clusterOfEach: Option[String]
) extends Serializable {
  import InputColumns._

  private val headers = indices.get(Headers).map(_._1)
  private val timestamp = indices.get(Timestamp).map(_._1)
  private val partition = indices.get(Partition).map(_._1)
  private val topic = indices.get(Topic).map(_._1)
  private val stream = indices.get(Stream).map(_._1)
  private val cluster = indices.get(Cluster).map(_._1)

  def hasStream: Boolean = stream.isDefined
  def hasCluster: Boolean = cluster.isDefined

  /** What precedes keys and values, in formats with a registry. */
  def frames: Seq[Frame] = encoding.frames

  /**
   * For one task.
   *
   * @param onlyTopic the topic of a stream, None being that of the query, if it has the same single topic on all clusters
   */
  private[sink] def reader(onlyTopic: Option[String] => Option[String] = _ =>
    None): InternalRow => OutputRow = {
    val targets = new RowTargets(stream, cluster, topic)
    val shown = new ShownTarget(
      row => targets.topic.of(row).orElse(onlyTopic(targets.stream.of(row))),
      targets.cluster.of
    )
    val value = new RowEncoder(encoding.value, "value", shown)
    val key = encoding.key.fold((_: InternalRow) => NoBytes) { source =>
      val encoder = new RowEncoder(source, "key", shown)
      encoder(_)
    }
    val upserts = encoding.upserts
    row => {
      shown.begin(row)
      // The key first, as Kafka's producer does: both may add headers, and the last one of a name counts.
      val ofKey = key(row)
      val bytes = if (upserts.exists(_.isDeleted(row))) NoBytes else value(row)
      val found = read(row, targets.of(row), ofKey, bytes)
      val invalid = found.invalid.orElse(upserts.flatMap(_.problem(row)))
      if (shown.added.isEmpty && invalid == found.invalid) found
      else found.copy(headers = found.headers ++ shown.added, invalid = invalid)
    }
  }

  /** Whether a row becomes a record. */
  private[sink] def writes(row: InternalRow): Boolean =
    !encoding.upserts.exists(_.isSkipped(row))

  private def read(row: InternalRow, to: RowTarget, key: Array[Byte], value: Array[Byte]): OutputRow = {
    val time = timestamp.filterNot(row.isNullAt)
      .map(i => math.floorDiv(row.getLong(i), MicrosPerMs)).filter(_ != NoTimestamp)
    val all = headers.filterNot(row.isNullAt).fold(Seq.empty[Option[Header]])(headersAt(row, _))
    OutputRow(
      key = key,
      value = value,
      headers = all.flatten,
      timestampMs = time.filter(_ >= 0).map(Long.box).orNull,
      partition = partition.filterNot(row.isNullAt).map(row.getInt),
      to = to,
      invalid = time.filter(_ < 0).map(ms => s"its timestamp is $ms ms, and Kafka accepts none before 1970")
        .orElse(Option.when(all.contains(None))("one of its headers has no key"))
    )
  }

  /** None: a header without a key. */
  private def headersAt(row: InternalRow, i: Int): Seq[Option[Header]] = {
    val array = row.getArray(i)
    (0 until array.numElements()).filterNot(array.isNullAt).map { n =>
      val header = array.getStruct(n, 2)
      val value = if (header.isNullAt(1)) NoBytes else header.getBinary(1)
      Option.when(!header.isNullAt(0))(new RecordHeader(header.getUTF8String(0).toString, value))
    }
  }
}

/** What the rows of a task name: the same object for rows that follow each other and name the same. Not thread-safe. */
private final class RowTargets(streams: Option[Int], clusters: Option[Int], topics: Option[Int]) {
  val stream = new ColumnTexts(streams)
  val cluster = new ColumnTexts(clusters)
  val topic = new ColumnTexts(topics)
  private var latest = RowTarget()

  def of(row: InternalRow): RowTarget = {
    val s = stream.of(row)
    val c = cluster.of(row)
    val t = topic.of(row)
    if ((s ne latest.stream) || (c ne latest.cluster) || (t ne latest.topic)) latest = RowTarget(s, c, t)
    latest
  }
}

/** The texts of a column, which has few different ones: the same object for the same text. */
private final class ColumnTexts(column: Option[Int]) {
  private val known = mutable.HashMap.empty[UTF8String, Option[String]]

  def of(row: InternalRow): Option[String] = column.filterNot(row.isNullAt).flatMap { i =>
    val text = row.getUTF8String(i)
    known.getOrElse(text, add(text))
  }

  private def add(text: UTF8String): Option[String] = {
    // A limit in case that each row has another text.
    if (known.size >= InputColumns.MostTexts) known.clear()
    val made = Some(text.toString)
    // The bytes are those of the row, which is used again.
    known.update(text.copy(), made)
    made
  }
}

/** Shows the rows of a task to formats, before they are routed. */
private final class ShownTarget(
    topicOf: InternalRow => Option[String],
    clusterOf: InternalRow => Option[String]
) extends TargetRecord {
  private var row: InternalRow = _
  var added: Vector[Header] = Vector.empty

  def begin(next: InternalRow): Unit = {
    row = next
    if (added.nonEmpty) added = Vector.empty
  }

  override def topic: String = topicOf(row).orNull
  override def cluster: String = clusterOf(row).orNull
  override def addHeader(name: String, value: Array[Byte]): Unit = added :+= new RecordHeader(name, value)
}

private[dynamickafka] object InputColumns {
  private val NoBytes: Array[Byte] = null
  private val MicrosPerMs = 1000L
  private[sink] val MostTexts = 10000

  /** What Kafka returns for a record without a timestamp: rows that were read from Kafka may have it. */
  private val NoTimestamp = -1L

  private val whole = Seq(Value, Key)
  private val routing = Seq(Headers, Timestamp, Partition, Topic, Stream, Cluster)

  /**
   * @param caseSensitive whether `spark.sql.caseSensitive` is set
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_COLUMN
   */
  def of(
      schema: StructType,
      caseSensitive: Boolean,
      format: FormatTable = Formats.plain
  ): InputColumns = {
    def find(columns: Seq[MetadataColumn], prefix: String) = columns.flatMap { column =>
      val name = prefix + column.name
      val same = schema.fields.zipWithIndex.filter { case (field, _) =>
        if (caseSensitive) field.name == name else field.name.equalsIgnoreCase(name)
      }
      if (same.length > 1)
        throw Errors.invalidColumn(name, "there is more than one column with this name.")
      same.headOption.map { case (field, i) =>
        if (!accepts(column, field.dataType)) {
          val expected = if (whole.contains(column)) "STRING or BINARY" else column.dataType.sql
          val hint = if (isPlain(format)) "" else fieldOfRecord
          throw Errors.invalidColumn(name, s"its type is ${field.dataType.sql}, but must be $expected.$hint")
        }
        column -> (i -> field.dataType)
      }
    }.toMap
    val routes = find(routing, format.metadata.prefix)
    val encoding =
      if (isPlain(format)) plain(schema, find(whole, ""))
      else format.encoding(schema, routes.values.map(_._1).toSet, caseSensitive)
    val cluster = routes.get(Cluster).map { case (i, _) => schema(i) }.filterNot(_.nullable).map(_.name)
    new InputColumns(routes, encoding, cluster)
  }

  /** The columns that records do not have, which a DataFrame may have nevertheless: other columns are ignored. */
  def ignored(schema: StructType, format: FormatTable): Seq[String] =
    if (!isPlain(format)) Nil
    else {
      val known = whole.map(_.name) ++ routing.map(format.metadata.prefix + _.name)
      schema.fieldNames.toSeq.filterNot(name => known.exists(_.equalsIgnoreCase(name)))
    }

  /** Whether keys and values are columns with bytes, as in Spark's Kafka sink, which ignores other columns. */
  private def isPlain(format: FormatTable) = format.value.format == Raw && format.key.isEmpty

  private def plain(schema: StructType, columns: Map[MetadataColumn, (Int, DataType)]): Encoding = {
    def of(column: MetadataColumn) = columns.get(column).map { case (i, dataType) =>
      SideColumns.Column(i, dataType)
    }
    Encoding(
      of(Value).getOrElse(throw Errors.invalidColumn(
        Value.name,
        s"the column is required but missing. The columns are ${schema.fieldNames.mkString("'", "', '", "'")}."
      )),
      of(Key)
    )
  }

  private val fieldOfRecord =
    s" For a field of this name in the records, set '${FormatOptionSpecs.MetadataPrefix.name}'."

  private def isText(t: DataType): Boolean = t.isInstanceOf[StringType]

  private def accepts(column: MetadataColumn, t: DataType): Boolean = (column, t) match {
    case (Headers, ArrayType(StructType(Array(key, value)), _)) =>
      key.name == "key" && isText(key.dataType) && value.name == "value" && value.dataType == BinaryType
    case (Value | Key, _) => isText(t) || t == BinaryType
    case (Topic | Stream | Cluster, _) => isText(t)
    case _ => t == column.dataType
  }
}
