package io.github.dynamickafka.format.change

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{StructField, StructType}

import io.github.dynamickafka.format.decode.{DecodeFailure, DecodedValues, Decoders}
import io.github.dynamickafka.format.{Format, ParseErrors, SideLayout}

/**
 * An envelope that is a JSON object.
 *
 * @param fields the fields to parse, by the type of the rows
 * @param texts whether numbers in the rows are parsed as texts
 * @param wrapped whether the object is the field `payload` of another one
 */
private[change] final class JsonEnvelope(
    side: SideLayout,
    payload: Payload,
    fields: StructType => Seq[EnvelopeField],
    texts: Boolean,
    wrapped: Boolean
) extends Envelope {
  import JsonEnvelope.Wrapper

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

  override def parse(record: Array[Byte]): DecodeFailure = {
    bytes = record
    val failure = decoder.decode(record, values)
    nested = if (wrapped) values.get(0).asInstanceOf[InternalRow] else null
    if ((failure eq null) && wrapped && (nested eq null))
      DecodeFailure(s"the field '$Wrapper' is missing", None, unparsable = true)
    else failure
  }

  override def get(field: Int): Any = {
    val (inRoot, at) = places(field)
    if (inRoot) values.get(at)
    else if ((nested eq null) || nested.isNullAt(at)) null
    else nested.get(at, innerType(at).dataType)
  }

  override def row(field: Int): InternalRow = typed(get(field).asInstanceOf[InternalRow])

  override def rows(field: Int): Option[Array[InternalRow]] =
    Option(get(field)).map(_.asInstanceOf[ArrayData]).map(array =>
      Array.tabulate(array.numElements())(i =>
        if (array.isNullAt(i)) null else typed(array.getStruct(i, rowType.length))
      )
    )

  private def typed(row: InternalRow): InternalRow = if (texts) payload.typed(row) else row

  override def before(old: InternalRow, after: InternalRow, index: Int): InternalRow = {
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

private object JsonEnvelope {
  private val Wrapper = "payload"
}
