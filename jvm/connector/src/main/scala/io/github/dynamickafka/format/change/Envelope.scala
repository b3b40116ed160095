package io.github.dynamickafka.format.change

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{ArrayType, StructField, StructType}

import io.github.dynamickafka.format.decode.{DecodeFailure, DecodedValues, Decoders}
import io.github.dynamickafka.format.{Format, ParseErrors, SideLayout}

/** A field of an envelope. `outer`: beside `payload`, if the records contain their schema. */
private[change] final case class EnvelopeField(field: StructField, outer: Boolean = false)

/**
 * Parses the JSON object around the rows of a change, and shows the one that was parsed last. Not thread-safe.
 *
 * @param fields the fields to parse, by the type of the rows
 * @param texts whether numbers in the rows are parsed as texts
 * @param wrapped whether the object is the field `payload` of another one
 */
private[change] final class Envelope(
    side: SideLayout,
    payload: Payload,
    fields: StructType => Seq[EnvelopeField],
    texts: Boolean,
    wrapped: Boolean
) {
  import Envelope.Wrapper

  private val rowType = if (texts) payload.texts else payload.schema
  private val all = fields(rowType).toArray
  private val (outer, inner) = all.toSeq.partition(f => wrapped && f.outer)
  private val innerType = StructType(inner.map(_.field))
  private val root =
    if (wrapped) StructType(StructField(Wrapper, innerType) +: outer.map(_.field)) else innerType
  private val values = new DecodedValues(root.fields.map(_.dataType))
  private val decoder = Decoders.of(SideLayout(
    side.format.copy(format = Format.Json, parseErrors = ParseErrors.Fail),
    root,
    root.indices
  ))

  /** For each field, where it is: in the root, or, behind those of the root, in the payload. */
  private val places: Array[(Boolean, Int)] = all.map(f =>
    if (wrapped && !f.outer) (false, inner.indexOf(f)) else (true, root.fieldIndex(f.field.name))
  )
  private var bytes: Array[Byte] = _
  private var nested: InternalRow = _

  /** @return null if nothing in the record is bad */
  def parse(record: Array[Byte]): DecodeFailure = {
    bytes = record
    val failure = decoder.decode(record, values)
    nested = if (wrapped) values.get(0).asInstanceOf[InternalRow] else null
    if ((failure eq null) && wrapped && (nested eq null))
      DecodeFailure(s"the field '$Wrapper' is missing", None, unparsable = true)
    else failure
  }

  /** A field by its place in `fields`; null if it is missing. */
  def get(field: Int): Any = {
    val (inRoot, at) = places(field)
    if (inRoot) values.get(at)
    else if ((nested eq null) || nested.isNullAt(at)) null
    else nested.get(at, innerType(at).dataType)
  }

  def text(field: Int): Option[String] = Option(get(field)).map(_.toString)

  def row(field: Int): InternalRow = typed(get(field).asInstanceOf[InternalRow])

  /** The rows of an array, some of which may be null; None if it is missing. */
  def rows(field: Int): Option[Array[InternalRow]] =
    Option(get(field)).map(_.asInstanceOf[ArrayData]).map(array =>
      Array.tabulate(array.numElements())(i =>
        if (array.isNullAt(i)) null else typed(array.getStruct(i, rowType.length))
      )
    )

  private def typed(row: InternalRow): InternalRow = if (texts) payload.typed(row) else row

  /**
   * The row before an update: where `old` has no field, that of the row after it.
   *
   * @param index of the row in the array `old`
   */
  def before(old: InternalRow, after: InternalRow, index: Int): InternalRow = {
    val length = payload.schema.length
    lazy val present = OldFields.of(bytes, side.format.options).lift(index).getOrElse(Set.empty)
    val row = new GenericInternalRow(length)
    (0 until length).foreach { i =>
      val field = payload.schema(i)
      val from = if (!old.isNullAt(i) || present.contains(field.name)) old else after
      row.update(i, if (from.isNullAt(i)) null else from.get(i, field.dataType))
    }
    row
  }
}

private[change] object Envelope {
  private val Wrapper = "payload"

  def rowsOf(name: String, row: StructType): EnvelopeField = EnvelopeField(StructField(name, ArrayType(row)))
  def rowOf(name: String, row: StructType): EnvelopeField = EnvelopeField(StructField(name, row))
}
