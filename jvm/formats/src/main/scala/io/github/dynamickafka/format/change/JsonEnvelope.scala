package io.github.dynamickafka.format.change

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.CreateJacksonParser
import org.apache.spark.sql.catalyst.util.ArrayData
import org.apache.spark.sql.types.{StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.json.JsonDecoder.foreachField
import io.github.dynamickafka.format.json.{Json, JsonDecoder, JsonFormat}
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

/**
 * The fields that the objects in `old` have. Canal and Maxwell leave out what an update did not change, so a field that is missing
 * and one that is null mean different things, which rows cannot tell.
 */
private[change] object OldFields {
  private val Old = "old"

  /** @return one set for each object of an array, or one for an object */
  def of(bytes: Array[Byte], options: Map[String, String]): Seq[Set[String]] = {
    val factory = JsonFormat.parsed(options).buildJsonFactory()
    val parser = CreateJacksonParser.utf8String(factory, UTF8String.fromBytes(bytes))
    try top(parser)
    catch {
      // The record has been parsed: only what follows the object can be wrong.
      case NonFatal(_) => Nil
    } finally parser.close()
  }

  private def top(parser: JsonParser): Seq[Set[String]] = {
    var found = Seq.empty[Set[String]]
    if (parser.nextToken() eq JsonToken.START_OBJECT)
      // A name may be there twice: the last value counts.
      foreachField(parser)(name => if (name == Old) found = value(parser, parser.currentToken()))
    found
  }

  private def value(parser: JsonParser, token: JsonToken): Seq[Set[String]] =
    if (token eq JsonToken.START_OBJECT) Seq(names(parser))
    else if (token eq JsonToken.START_ARRAY) {
      val all = Seq.newBuilder[Set[String]]
      var next = parser.nextToken()
      while (next ne JsonToken.END_ARRAY) {
        if (next eq JsonToken.START_OBJECT) all += names(parser)
        else {
          val _ = parser.skipChildren()
          all += Set.empty[String]
        }
        next = parser.nextToken()
      }
      all.result()
    } else Nil

  private def names(parser: JsonParser): Set[String] = {
    val found = Set.newBuilder[String]
    foreachField(parser)(found += _)
    found.result()
  }
}
