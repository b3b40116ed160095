package io.github.dynamickafka.format.change

import java.time.ZoneId

import scala.util.Try

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, DateTimeUtils, MapData}
import org.apache.spark.sql.types.{DataType, MapType, StringType, StructField}
import org.apache.spark.unsafe.types.UTF8String

/**
 * Where a column about the change comes from.
 *
 * @param read the value in Catalyst's representation, or null, by the values of the fields
 */
private[change] final case class ChangeSource(fields: Seq[EnvelopeField], read: Seq[Any] => Any)

private[change] object ChangeSource {

  /** The column `ts_ms` of envelopes. */
  def milliseconds(micros: ChangeSource): ChangeSource = micros.copy(read =
    values =>
      micros.read(values) match {
        case found: Long => DateTimeUtils.microsToMillis(found)
        case _ => null
      }
  )

  private val sourceField = EnvelopeField(StructField("source", MapType(StringType, StringType)))

  /** Debezium's field of this name, a map. */
  val source: ChangeSource = ChangeSource(Seq(sourceField), _.head)

  def one(name: String, dataType: DataType): ChangeSource =
    ChangeSource(Seq(EnvelopeField(StructField(name, dataType))), _.head)

  def text(name: String, read: UTF8String => Any = identity): ChangeSource =
    ChangeSource(Seq(EnvelopeField(StructField(name, StringType))), values => converted(values.head, read))

  def property(name: String, read: UTF8String => Any = identity): ChangeSource = {
    val key = UTF8String.fromString(name)
    ChangeSource(Seq(sourceField), values => converted(lookUp(values.head, key), read))
  }

  /** A map of some fields, by other names; null if there are none. */
  def named(names: (String, String)*): ChangeSource =
    ChangeSource(
      names.map { case (field, _) => EnvelopeField(StructField(field, StringType)) },
      { values =>
        val found = names.zip(values).collect { case ((_, name), value) if value != null => name -> value }
        if (found.isEmpty) null
        else ArrayBasedMapData(
          found.map(f => UTF8String.fromString(f._1): Any).toArray,
          found.map(_._2).toArray
        )
      }
    )

  /** A time in a field that is text. */
  def time(name: String, zone: ZoneId, unit: Long = 1L): ChangeSource = text(name, timestamp(_, unit, zone))

  /** A time in a field of `source`. */
  def timeProperty(name: String, zone: ZoneId): ChangeSource = property(name, timestamp(_, 1L, zone))

  private def converted(value: Any, read: UTF8String => Any): Any = value match {
    case text: UTF8String => read(text)
    case _ => null
  }

  private def lookUp(value: Any, key: UTF8String): Any = value match {
    case map: MapData =>
      val keys = map.keyArray()
      val at = (0 until map.numElements()).indexWhere(keys.getUTF8String(_) == key)
      if (at < 0 || map.valueArray().isNullAt(at)) null else map.valueArray().getUTF8String(at)
    case _ => null
  }

  /** Microseconds of a number in `unit` milliseconds, or of a text with date and time; null if it is neither. */
  private def timestamp(text: UTF8String, unit: Long, zone: ZoneId): Any =
    text.toString.trim.toLongOption.flatMap(n => Try(Math.multiplyExact(n, unit * 1000L): Any).toOption)
      .orElse(DateTimeUtils.stringToTimestamp(text, zone)).orNull
}
