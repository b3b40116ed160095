package io.github.dynamickafka.format.custom

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import io.github.dynamickafka.extension.{CustomFormat, RecordHeader, RecordReader, SourceRecord}
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, ReadContext, SideLayout}
import io.github.dynamickafka.option.NamedClass

/** Decodes by a class of the user. */
private[custom] final class ClassDecoder(className: String, side: SideLayout) extends Decoder {
  private val reader: RecordReader =
    NamedClass.create(className, classOf[CustomFormat]).fold(
      reason => throw new IllegalArgumentException(reason),
      _.reader(side.schema)
    )
  private val columns = side.schema.fields.map(field => new RowColumn(field.dataType))
  private val wanted = side.wanted.toArray
  private val shown = new Shown

  override def within(context: ReadContext): Unit = shown.context = context

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    shown.bytes = bytes
    var column = -1
    try {
      val row = reader.read(shown)
      if (row.length != columns.length)
        DecodeFailure(
          s"$className returned ${row.length} values for ${columns.length} columns",
          None,
          unparsable = true
        )
      else {
        var i = 0
        while (i < wanted.length) {
          column = wanted(i)
          into.setAny(column, columns(column).toCatalyst(row.get(column)))
          i += 1
        }
        null
      }
    } catch {
      // Its message may contain a part of the record.
      case NonFatal(e) if column < 0 =>
        DecodeFailure(s"$className threw ${e.getClass.getSimpleName}", None, unparsable = true)
      case NonFatal(_) =>
        into.setNullAt(column)
        DecodeFailure(
          s"$className returned a value that is not ${side.schema(column).dataType.sql}",
          Some(side.schema(column).name),
          unparsable = false
        )
    }
  }

  override def close(): Unit = reader.close()

  private final class Shown extends SourceRecord {
    var context: ReadContext = _
    var bytes: Array[Byte] = _
    override def topic: String = context.topic
    override def cluster: String = context.cluster
    override def headers: ju.List[RecordHeader] =
      context.headers.map { case (name, value) => RecordHeader(name, value) }.toSeq.asJava
  }
}
