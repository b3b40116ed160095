package io.github.dynamickafka.format.change

import java.time.ZoneId

import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.{
  ChangeKind,
  ChangeLayout,
  DecodeFailure,
  DecodedValues,
  Decoder,
  SideLayout
}
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

  private val format = side.format.format match {
    case known: ChangeFormat => known
    case other => throw new IllegalArgumentException(s"${other.name} has no changes")
  }
  private val dialect = format.dialect(side)
  private val zone: ZoneId =
    side.format.options.get("timeZone").fold[ZoneId](ZoneId.of("UTC"))(DateTimeUtils.getZoneId)
  private val wanted: Array[Int] = side.wanted.toArray

  /** The columns of the changed table that have to be parsed. */
  private val payload: StructType =
    if (!change.envelope) StructType(side.wanted.map(side.schema(_)))
    else if (wanted.exists(i => i == Before || i == After)) change.payload
    else StructType(Nil)

  private val ofChange: Seq[(Int, ChangeSource)] =
    change.wanted.filter(_ != ChangeLayout.TypeIndex).map(slot =>
      slot -> format.source(change.metadata(slot - 1).key, zone)
    )
  private val ofEnvelope: Seq[(Int, ChangeSource)] =
    if (!change.envelope) Nil
    else
      Seq(
        Source -> format.envelopeSource,
        Time -> ChangeSource.milliseconds(format.source(ChangeFormat.IngestionTimestamp, zone))
      ).filter(s => side.wanted.contains(s._1))

  private val sources = (ofChange ++ ofEnvelope).map(_._2)
  private def fields(row: StructType): Seq[EnvelopeField] =
    (dialect.fields(row) ++ sources.flatMap(_.fields)).distinctBy(_.field.name)

  /** Where the fields of each source are. */
  private val names = fields(payload).map(_.field.name)
  private def read(source: ChangeSource, envelope: Envelope): Any =
    source.read(source.fields.map(f => envelope.get(names.indexOf(f.field.name))))

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

  /** No further rows. */
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
      failure
    } else if (dialect.excludes(envelope)) null
    else {
      val _ = envelope.takeFailed()
      dialect.changes(envelope) match {
        case Right(found) =>
          rows = found.flatMap(rowsOf(_, envelope))
          ofChange.foreach { case (slot, source) => about.setAny(slot, read(source, envelope)) }
          val misfit = envelope.takeFailed().map(name =>
            DecodeFailure(s"the value is not of type ${typeOf(name).sql}", Some(name), unparsable = false)
          )
          if (failure eq null) misfit.orNull else failure
        case Left(reason) =>
          rows = Unparsable
          DecodeFailure(reason, None, unparsable = true)
      }
    }

  private def typeOf(column: String): DataType = payload(column).dataType

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

  /** Whether a value means that there is no change, but the end of a key: Kafka's compaction needs such records. */
  def isEmpty(value: Array[Byte]): Boolean = value == null || value.isEmpty
}
