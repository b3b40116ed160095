package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.BaseGenericInternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.execution.vectorized.{
  ConstantColumnVector,
  OnHeapColumnVector,
  WritableColumnVector
}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarBatch}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.json.Json
import io.github.dynamickafka.format.table.Decoders
import io.github.dynamickafka.format.{DecodedValues, SideFormat, SideLayout}
import io.github.dynamickafka.source.read.RecordsInMemory.Records

/** Records of one kind, and the two ways in which they become Spark's. */
private[read] sealed abstract class RecordKind(val name: String, ddl: String) {
  final val schema: StructType = StructType.fromDDL(ddl)

  def value(i: Int): String

  /** The columns that are read if a query requires these. */
  def pruned(required: StructType, columnar: Boolean): StructType

  /** Rows with these columns, each of which is valid until the next one. */
  def rows(wanted: StructType): ConsumerRecord[Array[Byte], Array[Byte]] => InternalRow

  /** What writes a record into vectors of these columns, except those that are constant. */
  protected def writer(
      wanted: StructType,
      vectors: Array[WritableColumnVector]
  ): (ConsumerRecord[Array[Byte], Array[Byte]], Int) => Unit

  /** Batches with these columns, each of which is valid until the next one. */
  final def columns(wanted: StructType): (Records, Int, Int) => ColumnarBatch = {
    val constants = wanted.fields.map(field => RecordKind.constants.get(field.name))
    val vectors = wanted.fields.map(field => new OnHeapColumnVector(RecordKind.BatchSize, field.dataType))
    val write = writer(wanted, vectors.toArray[WritableColumnVector])
    val batch = new ColumnarBatch(vectors.zip(constants).map { case (vector, constant) =>
      constant.fold[ColumnVector](vector) { text =>
        val same = new ConstantColumnVector(RecordKind.BatchSize, StringType)
        same.setUtf8String(UTF8String.fromString(text))
        same
      }
    })
    (records, from, until) => {
      vectors.foreach(_.reset())
      var i = from
      while (i < until) {
        write(records(i), i - from)
        i += 1
      }
      batch.setNumRows(until - from)
      batch
    }
  }
}

private[read] object RecordKind {
  final val BatchSize = 4096

  def apply(name: String): RecordKind = Seq(RawRecords, JsonRecords).find(_.name == name).get

  private val constants = Map("topic" -> "bench", "cluster" -> "near-a", "stream" -> "bench")

  private object RawRecords
      extends RecordKind(
        "raw",
        "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT," +
          " cluster STRING, stream STRING"
      ) {
    override def value(i: Int): String = f"${i * 31L}%0100x"

    // The rows of the connector have all columns: they are views, of which only what a query needs is called.
    override def pruned(required: StructType, columnar: Boolean): StructType =
      if (columnar) required else schema

    override def rows(wanted: StructType): ConsumerRecord[Array[Byte], Array[Byte]] => InternalRow = {
      def constant(column: String) = UTF8String.fromString(constants(column))
      val row = new RecordRow(false, constant("topic"), constant("cluster"), constant("stream"))
      row.of(_)
    }

    override protected def writer(
        wanted: StructType,
        vectors: Array[WritableColumnVector]
    ): (ConsumerRecord[Array[Byte], Array[Byte]], Int) => Unit = {
      val columns = wanted.fieldNames.map(schema.fieldIndex)
      (record, at) => {
        var i = 0
        while (i < columns.length) {
          val vector = vectors(i)
          columns(i) match {
            case 0 => val _ = vector.putByteArray(at, record.key, 0, record.key.length)
            case 1 => val _ = vector.putByteArray(at, record.value, 0, record.value.length)
            case 3 => vector.putInt(at, record.partition)
            case 4 => vector.putLong(at, record.offset)
            case 5 => vector.putLong(at, DateTimeUtils.millisToMicros(record.timestamp))
            case 6 => vector.putInt(at, record.timestampType.id)
            case _ => ()
          }
          i += 1
        }
      }
    }
  }

  private object JsonRecords
      extends RecordKind(
        "json",
        "id BIGINT, customer STRING, amount DOUBLE, paid BOOLEAN, at TIMESTAMP, country STRING"
      ) {
    override def value(i: Int): String = {
      val at = java.time.Instant.ofEpochSecond(1700000000L + i)
      s"""{"id":$i,"customer":"customer-${f"${i * 31L}%064x"}","amount":${i * 0.25},"paid":${i % 2 == 0},"at":"$at",""" +
        s""""country":"country-${i % 8}"}"""
    }

    // Only these fields are decoded.
    override def pruned(required: StructType, columnar: Boolean): StructType = required

    override def rows(wanted: StructType): ConsumerRecord[Array[Byte], Array[Byte]] => InternalRow = {
      val (decode, values) = decoder(wanted)
      val row = new ValuesRow(values, wanted.fieldNames.map(schema.fieldIndex))
      record => {
        decode(record)
        row
      }
    }

    override protected def writer(
        wanted: StructType,
        vectors: Array[WritableColumnVector]
    ): (ConsumerRecord[Array[Byte], Array[Byte]], Int) => Unit = {
      val (decode, values) = decoder(wanted)
      val columns = wanted.fieldNames.map(schema.fieldIndex)
      (record, at) => {
        decode(record)
        var i = 0
        while (i < columns.length) {
          val vector = vectors(i)
          columns(i) match {
            case 0 | 4 => vector.putLong(at, values.getLong(columns(i)))
            case 2 => vector.putDouble(at, values.getDouble(columns(i)))
            case 3 => vector.putBoolean(at, values.getBoolean(columns(i)))
            case _ =>
              val text = values.getObject(columns(i)).asInstanceOf[UTF8String]
              val bytes = text.getBaseObject.asInstanceOf[Array[Byte]]
              val _ = vector.putByteArray(
                at,
                bytes,
                (text.getBaseOffset - Platform.BYTE_ARRAY_OFFSET).toInt,
                text.numBytes
              )
          }
          i += 1
        }
      }
    }

    private def decoder(
        wanted: StructType
    ): (ConsumerRecord[Array[Byte], Array[Byte]] => Unit, DecodedValues) = {
      val side =
        SideLayout(SideFormat(Json, Map.empty), schema, wanted.fieldNames.map(schema.fieldIndex).toSeq)
      val (decoder, into) = (Decoders.of(side), new DecodedValues(side.types))
      val decode = (record: ConsumerRecord[Array[Byte], Array[Byte]]) => {
        val failure = decoder.decode(record.value, into)
        if (failure ne null) sys.error(failure.reason)
      }
      (decode, into)
    }
  }
}

/** Decoded values as a row, as the connector hands them over. */
private final class ValuesRow(values: DecodedValues, columns: Array[Int]) extends BaseGenericInternalRow {
  override def numFields: Int = columns.length
  override def isNullAt(i: Int): Boolean = values.isNullAt(columns(i))
  override def getBoolean(i: Int): Boolean = values.getBoolean(columns(i))
  override def getLong(i: Int): Long = values.getLong(columns(i))
  override def getDouble(i: Int): Double = values.getDouble(columns(i))
  override def getUTF8String(i: Int): UTF8String = values.getObject(columns(i)).asInstanceOf[UTF8String]
  override protected def genericGet(i: Int): Any = values.get(columns(i))
  override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException
  override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException
}
