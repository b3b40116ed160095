package io.github.dynamickafka.sink.row

import org.apache.kafka.common.header.Header
import org.apache.kafka.common.header.internals.RecordHeader
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

import io.github.dynamickafka.error.Errors

/**
 * The indices of the columns that the sink reads. Other columns are ignored, as in Spark's Kafka sink.
 */
private[dynamickafka] final class InputColumns private (
    indices: Map[String, (Int, DataType)],
    nullable: Set[String]
) extends Serializable {
  import InputColumns._

  private val value = indices(Value)
  private val key = indices.get(Key)
  private val headers = indices.get(Headers).map(_._1)
  private val timestamp = indices.get(Timestamp).map(_._1)
  private val partition = indices.get(Partition).map(_._1)
  private val topic = indices.get(Topic).map(_._1)
  private val stream = indices.get(Stream).map(_._1)
  private val cluster = indices.get(Cluster).map(_._1)

  def hasStream: Boolean = stream.isDefined

  /** The column with the cluster, if each row has one. */
  def clusterOfEach: Option[String] = cluster.map(_ => Cluster).filterNot(nullable)

  private[sink] def read(row: InternalRow): OutputRow = {
    val time = timestamp.filterNot(row.isNullAt)
      .map(i => math.floorDiv(row.getLong(i), MicrosPerMs)).filter(_ != NoTimestamp)
    val all = headers.filterNot(row.isNullAt).fold(Seq.empty[Option[Header]])(headersAt(row, _))
    output(
      row,
      time.filter(_ >= 0),
      all.flatten,
      time.filter(_ < 0).map(ms => s"its timestamp is $ms ms, and Kafka accepts none before 1970")
        .orElse(Option.when(all.contains(None))("one of its headers has no key"))
    )
  }

  private def output(
      row: InternalRow,
      timeMs: Option[Long],
      headers: Seq[Header],
      invalid: Option[String]
  ) = OutputRow(
    key = key.fold(NoBytes)(bytes(row, _)),
    value = bytes(row, value),
    headers = headers,
    timestampMs = timeMs.map(Long.box).orNull,
    partition = partition.filterNot(row.isNullAt).map(row.getInt),
    topic = text(row, topic),
    stream = text(row, stream),
    cluster = text(row, cluster),
    invalid = invalid
  )

  private def text(row: InternalRow, column: Option[Int]): Option[String] =
    column.filterNot(row.isNullAt).map(row.getUTF8String(_).toString)

  private def bytes(row: InternalRow, column: (Int, DataType)): Array[Byte] = column match {
    case (i, _) if row.isNullAt(i) => NoBytes
    case (i, BinaryType) => row.getBinary(i)
    case (i, _) => row.getUTF8String(i).getBytes
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

private[dynamickafka] object InputColumns {
  private val Value = "value"
  private val Key = "key"
  private val Headers = "headers"
  private val Timestamp = "timestamp"
  private val Partition = "partition"
  private val Topic = "topic"
  private val Stream = "stream"
  private val Cluster = "cluster"
  private val NoBytes: Array[Byte] = null
  private val MicrosPerMs = 1000L

  /** What Kafka returns for a record without a timestamp: rows that were read from Kafka may have it. */
  private val NoTimestamp = -1L

  private val HeadersType =
    ArrayType(StructType(Seq(StructField("key", StringType), StructField("value", BinaryType))))

  private val bytes = "STRING or BINARY" -> ((t: DataType) => isText(t) || t == BinaryType)
  private val string = "STRING" -> (isText _)
  private val accepted: Seq[(String, (String, DataType => Boolean))] = Seq(
    Value -> bytes,
    Key -> bytes,
    Headers -> (HeadersType.sql -> isHeaders _),
    Timestamp -> ("TIMESTAMP" -> (_ == TimestampType)),
    Partition -> ("INT" -> (_ == IntegerType)),
    Topic -> string,
    Stream -> string,
    Cluster -> string
  )

  /**
   * @param caseSensitive whether `spark.sql.caseSensitive` is set
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_COLUMN
   */
  def of(schema: StructType, caseSensitive: Boolean): InputColumns = {
    val found = accepted.flatMap { case (name, (expected, accepts)) =>
      val same = schema.fields.zipWithIndex.filter { case (field, _) =>
        if (caseSensitive) field.name == name else field.name.equalsIgnoreCase(name)
      }
      if (same.length > 1) throw Errors.invalidColumn(name, "there is more than one column with this name.")
      same.headOption.map { case (field, i) =>
        if (!accepts(field.dataType))
          throw Errors.invalidColumn(name, s"its type is ${field.dataType.sql}, but must be $expected.")
        name -> (i -> field.dataType)
      }
    }.toMap
    if (!found.contains(Value))
      throw Errors.invalidColumn(
        Value,
        s"the column is required but missing. The columns are ${schema.fieldNames.mkString("'", "', '", "'")}."
      )
    new InputColumns(found, found.collect { case (name, (i, _)) if schema(i).nullable => name }.toSet)
  }

  /** The columns that records do not have, which a DataFrame may have nevertheless. */
  def others(schema: StructType): Seq[String] =
    schema.fieldNames.toSeq.filterNot(name => accepted.exists(_._1.equalsIgnoreCase(name)))

  private def isText(t: DataType): Boolean = t.isInstanceOf[StringType]

  private def isHeaders(t: DataType): Boolean = t match {
    case ArrayType(StructType(Array(key, value)), _) =>
      key.name == "key" && isText(key.dataType) && value.name == "value" && value.dataType == BinaryType
    case _ => false
  }
}
