package io.github.dynamickafka.format.change

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{ArrayType, StructField, StructType}

import io.github.dynamickafka.format.DecodeFailure

/** A field of an envelope. `outer`: beside `payload`, if the records contain their schema. */
private[change] final case class EnvelopeField(field: StructField, outer: Boolean = false)

/** Parses what is around the rows of a change, and shows the record that was parsed last. Not thread-safe. */
private[change] trait Envelope {

  /** The records that follow are of this cluster. */
  def from(cluster: String): Unit = {
    val _ = cluster
  }

  /** @return null if nothing in the record is bad */
  def parse(record: Array[Byte]): DecodeFailure

  /** The first column of the rows that were shown whose value did not fit, since the last call. */
  def takeFailed(): Option[String] = None

  /** A field by its place in the fields that the envelope was made with; null if it is missing. */
  def get(field: Int): Any

  def text(field: Int): Option[String] = Option(get(field)).map(_.toString)

  def row(field: Int): InternalRow = get(field).asInstanceOf[InternalRow]

  /** The rows of an array, some of which may be null; None if it is missing. */
  def rows(field: Int): Option[Array[InternalRow]]

  /**
   * The row before an update: where `old` has no field, that of the row after it.
   *
   * @param index of the row in the array `old`
   */
  def before(old: InternalRow, after: InternalRow, index: Int): InternalRow
}

private[change] object Envelope {
  def rowsOf(name: String, row: StructType): EnvelopeField = EnvelopeField(StructField(name, ArrayType(row)))
  def rowOf(name: String, row: StructType): EnvelopeField = EnvelopeField(StructField(name, row))
}
