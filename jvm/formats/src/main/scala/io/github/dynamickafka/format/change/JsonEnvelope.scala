package io.github.dynamickafka.format.change

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.json.{Json, JsonDecoder}
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, ParseErrors, SideLayout}

/**
 * An envelope that is a JSON object.
 *
 * @param fields the fields to parse, by the type of the rows
 * @param wrapped whether the object is the field `payload` of another one
 */
private[change] final class JsonEnvelope(
    side: SideLayout,
    payload: Payload,
    fields: StructType => Seq[EnvelopeField],
    wrapped: Boolean
) extends Envelope {
  import JsonEnvelope.Wrapper

  private val rowType = payload.parsed
  private val ofSchema = EnvelopeField(StructField("schema", StringType), outer = true)
  private val all =
    (fields(
      rowType
    ) ++ Option.when(wrapped && payload.needsSchema)(ofSchema)).distinctBy(_.field.name).toArray
  private val (outer, inner) = all.toSeq.partition(f => wrapped && f.outer)
  private val innerType = StructType(inner.map(_.field))
  private val root =
    if (wrapped) StructType(StructField(Wrapper, innerType) +: outer.map(_.field)) else innerType
  private val values = new DecodedValues(root.fields.map(_.dataType))
  private val decoder = new JsonDecoder(SideLayout(
    side.format.copy(format = Json, parseErrors = ParseErrors.Fail),
    root,
    root.indices
  ))

  /** For each field, where it is: in the root, or, behind those of the root, in the payload. */
  private val places: Array[(Boolean, Int)] = all.map(f =>
    if (wrapped && !f.outer) (false, inner.indexOf(f)) else (true, root.fieldIndex(f.field.name))
  )
  private val schemaAt = if (all.contains(ofSchema)) root.fieldNames.indexOf(ofSchema.field.name) else -1
  private var bytes: Array[Byte] = _
  private var nested: InternalRow = _

  override def parse(record: Array[Byte]): DecodeFailure = {
    bytes = record
    val failure = decoder.decode(record, values)
    nested = if (wrapped) values.get(0).asInstanceOf[InternalRow] else null
    payload.begin(if (schemaAt < 0) null else values.get(schemaAt).asInstanceOf[UTF8String])
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

  private def typed(row: InternalRow): InternalRow = payload.typed(row)

  override def takeFailed(): Option[String] = payload.takeFailed()

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
