package io.github.dynamickafka.format.change

import java.time.ZoneId

import scala.util.control.NonFatal

import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.json.CreateJacksonParser
import org.apache.spark.sql.catalyst.util.{ArrayData, DateTimeUtils}
import org.apache.spark.sql.types.{ArrayType, DataType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format._
import io.github.dynamickafka.format.json.JsonDecoder.foreachField
import io.github.dynamickafka.format.json.{Json, JsonDecoder, JsonFormat}
import io.github.dynamickafka.schemaregistry.WireFormat

/**
 * Decodes records of a format of changes, each of which becomes any number of rows: [[decode]] reads a record, and [[next]] shows
 * its rows, one after the other. Used by one task. Not thread-safe.
 */
private[dynamickafka] final class ChangeDecoder(side: SideLayout) extends Decoder {
  import ChangeDecoder._
  import ChangeKind._

  private val change: ChangeLayout = side.change.get

  /** The kind of the change and metadata of the format, as [[ChangeLayout.types]]. */
  val about: DecodedValues = new DecodedValues(change.types)

  private val format = side.format.format.asInstanceOf[ChangeFormat]
  private val dialect = format.dialect(side)
  private val zone: ZoneId =
    side.format.options.get("timeZone").fold[ZoneId](ZoneId.of("UTC"))(DateTimeUtils.getZoneId)
  private val wanted: Array[Int] = side.wanted.toArray

  /** The columns of the changed table that have to be parsed. */
  private val payload: StructType =
    if (!change.envelope) StructType(side.wanted.map(side.schema(_)))
    else if (wanted.exists(i => i == Before || i == After)) change.payload
    else StructType(Nil)

  private def sourceOf(key: String) = format.sources.collectFirst { case (`key`, source) => source }.get
  private val ofChange: Seq[(Int, ChangeSource)] =
    change.wanted.filter(_ != ChangeLayout.TypeIndex).map(slot =>
      slot -> sourceOf(change.metadata(slot - 1).key)
    )
  private val ofEnvelope: Seq[(Int, ChangeSource)] =
    if (!change.envelope) Nil
    else
      Seq(
        Source -> format.envelopeSource,
        Time -> ChangeSource.milliseconds(sourceOf(ChangeFormat.IngestionTimestamp))
      ).filter(s => side.wanted.contains(s._1))

  private val sources = (ofChange ++ ofEnvelope).map(_._2)
  private def fields(row: StructType): Seq[EnvelopeField] =
    (dialect.fields(row) ++ sources.flatMap(_.fields)).distinctBy(_.field.name)

  /** Where the fields of each source are. */
  private val names = fields(payload).map(_.field.name)
  private def read(source: ChangeSource, envelope: Envelope): Any =
    source.read(source.fields.map(f => envelope.get(names.indexOf(f.field.name))), zone)

  private val avro = Option.when(format.hasRegistry)(
    new AvroEnvelope(side, fields(payload).map(_.field))
  )
  private lazy val strict = json(texts = false)
  private lazy val lenient = json(texts = true)
  private def json(texts: Boolean) =
    new JsonEnvelope(
      side,
      new Payload(payload, texts, format.times(side), bytes = format.isWrapped(side)),
      fields,
      format.isWrapped(side)
    )

  override def from(cluster: String): Unit = avro.foreach(_.from(cluster))

  private var rows: Seq[Row] = Nil

  /** Drops further rows. */
  def clear(): Unit = rows = Nil

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    rows = Nil
    about.clear()
    into.clear()
    avro.fold(ofJson(bytes)) { envelope =>
      val failure = changes(envelope, envelope.parse(bytes))
      if ((failure eq null) || failure.schemaId.isDefined || !WireFormat.hasHeader(bytes)) failure
      else failure.copy(schemaId = Some(WireFormat.id(bytes)))
    }
  }

  private def ofJson(bytes: Array[Byte]): DecodeFailure = {
    val first = if (dialect.texts) lenient else strict
    val failure = first.parse(bytes)
    if ((failure eq null) || dialect.texts) changes(first, failure)
    // The others write numbers as texts in some configurations.
    else changes(lenient, lenient.parse(bytes))
  }

  private def changes(envelope: Envelope, failure: DecodeFailure): DecodeFailure =
    if ((failure ne null) && failure.unparsable) {
      rows = Unparsable
      envelope.located(failure)
    } else if (dialect.excludes(envelope)) null
    else {
      val _ = envelope.takeFailed()
      dialect.changes(envelope) match {
        case Right(found) =>
          rows = found.flatMap(rowsOf(_, envelope))
          ofChange.foreach { case (slot, source) => about.setAny(slot, read(source, envelope)) }
          val failed = envelope.takeFailed().map(name =>
            DecodeFailure(misfit(payload(name).dataType), Some(name), unparsable = false)
          )
          if (failure eq null) failed.orNull else envelope.located(failure)
        case Left(reason) =>
          rows = Unparsable
          DecodeFailure(reason)
      }
    }

  private def rowsOf(changed: Change, envelope: Envelope): Seq[Row] =
    if (change.envelope)
      Seq(Row(null, changed, ofEnvelope.map { case (slot, s) => slot -> read(s, envelope) }))
    else
      changed.op match {
        case "c" | "r" => Seq(Row(Insert, changed, Nil))
        case "d" => Seq(Row(Delete, changed, Nil))
        case _ =>
          val preimage = Option.when(changed.before ne null)(Row(Preimage, changed, Nil))
          preimage.toSeq :+ Row(Postimage, changed, Nil)
      }

  /** Shows the next row of the record in `into` and [[about]]; false if there is none. */
  def next(into: DecodedValues): Boolean = rows match {
    case row +: rest =>
      into.clear()
      if (row ne Absent) show(row, into)
      rows = rest
      true
    case _ => false
  }

  private def show(row: Row, into: DecodedValues): Unit =
    if (!change.envelope) {
      about.setObject(ChangeLayout.TypeIndex, row.kind)
      val values = if ((row.kind eq Preimage) || (row.kind eq Delete)) row.change.before else row.change.after
      into.setAll(wanted, values, payload)
    } else {
      wanted.foreach {
        case Op => into.setObject(Op, UTF8String.fromString(row.change.op))
        case Before => into.setObject(Before, row.change.before)
        case After => into.setObject(After, row.change.after)
        case _ =>
      }
      row.envelope.foreach { case (slot, value) => into.setAny(slot, value) }
    }
}

private[dynamickafka] object ChangeDecoder {
  // The columns of envelopes, in the order of `ChangeLayout.envelope`.
  private final val Op = 0
  private final val Before = 1
  private final val After = 2
  private final val Source = 3
  private final val Time = 4

  /** @param kind null in envelopes */
  private final case class Row(kind: UTF8String, change: Change, envelope: Seq[(Int, Any)])

  /** The row of a record of which nothing could be decoded. */
  private val Absent = Row(null, null, Nil)
  private val Unparsable = Seq(Absent)

  def misfit(dataType: DataType): String = s"the value is not of type ${dataType.sql}"

  /** Whether a value means that there is no change, but the end of a key: Kafka's compaction needs such records. */
  def isEmpty(value: Array[Byte]): Boolean = value == null || value.isEmpty
}

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
  private val rowType = payload.parsed
  private val ofSchema = EnvelopeField(StructField("schema", StringType), outer = true)
  private val all =
    (fields(
      rowType
    ) ++ Option.when(wrapped && payload.needsSchema)(ofSchema)).distinctBy(_.field.name).toArray
  private val (outer, inner) = all.toSeq.partition(f => wrapped && f.outer)
  private val innerType = StructType(inner.map(_.field))
  private val root =
    if (wrapped) StructType(StructField("payload", innerType) +: outer.map(_.field)) else innerType
  private val values = new DecodedValues(root.fields.map(_.dataType))
  private val decoder = decoderOf(root)
  private def decoderOf(fields: StructType) = new JsonDecoder(SideLayout(
    side.format.copy(format = Json, parseErrors = ParseErrors.Fail),
    fields,
    fields.indices
  ))

  /** Where each field is: in the root, or, behind those of the root, in the payload. */
  private val places: Array[(Boolean, Int)] = all.map(f =>
    if (wrapped && !f.outer) (false, inner.indexOf(f)) else (true, root.fieldIndex(f.field.name))
  )
  private val schemaAt = if (all.contains(ofSchema)) root.fieldNames.indexOf(ofSchema.field.name) else -1
  private var bytes: Array[Byte] = _
  private var nested: InternalRow = _

  private lazy val old = new OldFields(side.format.options)
  private var ofOld: Option[Seq[Set[String]]] = None

  /** One set for each row in `old`, looked up once for a record, however many rows it has. */
  private def oldFields(): Seq[Set[String]] = ofOld.getOrElse {
    val found = old.of(bytes)
    ofOld = Some(found)
    found
  }

  override def parse(record: Array[Byte]): DecodeFailure = {
    bytes = record
    ofOld = None
    val failure = decoder.decode(record, values)
    nested = if (wrapped) values.get(0).asInstanceOf[InternalRow] else null
    payload.begin(if (schemaAt < 0) null else values.get(schemaAt).asInstanceOf[UTF8String])
    if ((failure eq null) && wrapped && (nested eq null))
      DecodeFailure("the field 'payload' is missing")
    else failure
  }

  /**
   * Decoders of one column each, which is how the column is found whose value the parser refuses; texts fit any column. The parser names
   * the field of the envelope in which it was.
   */
  private lazy val ofColumns = for {
    column <-
      payload.schema.zip(rowType).collect { case (field, read) if read.dataType != StringType => field }
    index = payload.schema.fieldIndex(column.name)
    only = fields(StructType(Seq(rowType(index)))).filterNot(_.outer)
      .collect { case f if hasRows(f.field.dataType) => f.field }
    inside = StructType(only)
  } yield column -> decoderOf(if (wrapped) StructType(Seq(StructField("payload", inside))) else inside)

  private def hasRows(dataType: DataType) = dataType match {
    case _: StructType | ArrayType(_: StructType, _) => true
    case _ => false
  }

  override def located(failure: DecodeFailure): DecodeFailure =
    if (failure.field.isEmpty) failure
    else
      ofColumns.find(_._2.decode(bytes, new DecodedValues(root.fields.map(_.dataType))) ne null)
        .fold(failure) { case (column, _) =>
          failure.copy(reason = ChangeDecoder.misfit(column.dataType), field = Some(column.name))
        }

  override def get(field: Int): Any = {
    val (inRoot, at) = places(field)
    if (inRoot) values.get(at)
    else if ((nested eq null) || nested.isNullAt(at)) null
    else nested.get(at, innerType(at).dataType)
  }

  override def row(field: Int): InternalRow = payload.typed(get(field).asInstanceOf[InternalRow])

  override def rows(field: Int): Option[Array[InternalRow]] =
    Option(get(field)).map(_.asInstanceOf[ArrayData]).map(array =>
      Array.tabulate(array.numElements())(i =>
        if (array.isNullAt(i)) null else payload.typed(array.getStruct(i, rowType.length))
      )
    )

  override def takeFailed(): Option[String] = payload.takeFailed()

  override def before(old: InternalRow, after: InternalRow, index: Int): InternalRow = {
    val length = payload.schema.length
    lazy val present = oldFields().lift(index).getOrElse(Set.empty)
    val row = new GenericInternalRow(length)
    (0 until length).foreach { i =>
      val field = payload.schema(i)
      val from = if (!old.isNullAt(i) || present.contains(field.name)) old else after
      row.update(i, if (from.isNullAt(i)) null else from.get(i, field.dataType))
    }
    row
  }
}

/**
 * The fields that the objects in `old` have. Canal and Maxwell leave out what an update did not change, so a field that is missing
 * and one that is null mean different things, which rows cannot tell.
 */
private[change] final class OldFields(options: Map[String, String]) {
  private val factory = JsonFormat.parsed(options).buildJsonFactory()

  /** @return one set for each object of an array, or one for an object */
  def of(bytes: Array[Byte]): Seq[Set[String]] = {
    val parser = CreateJacksonParser.utf8String(factory, UTF8String.fromBytes(bytes))
    var found = Seq.empty[Set[String]]
    try
      if (parser.nextToken() eq JsonToken.START_OBJECT)
        // A name may be there twice: the last value counts.
        foreachField(parser)(name => if (name == "old") found = value(parser))
    catch {
      // The record has been parsed: only what follows the object can be wrong.
      case NonFatal(_) => found = Nil
    } finally parser.close()
    found
  }

  private def value(parser: JsonParser): Seq[Set[String]] = parser.currentToken() match {
    case JsonToken.START_OBJECT => Seq(names(parser))
    case JsonToken.START_ARRAY =>
      Iterator.continually(parser.nextToken()).takeWhile(_ ne JsonToken.END_ARRAY).map(_ => names(parser))
        .toVector
    case _ => Nil
  }

  /** None, if the value is not an object. */
  private def names(parser: JsonParser): Set[String] = {
    val found = Set.newBuilder[String]
    if (parser.currentToken() eq JsonToken.START_OBJECT) foreachField(parser)(found += _)
    else { val _ = parser.skipChildren() }
    found.result()
  }
}
