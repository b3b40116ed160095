package io.github.dynamickafka.format.change

import java.time.ZoneId

import scala.util.Try

import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, DateTimeUtils, MapData}
import org.apache.spark.sql.types.{ArrayType, DataType, IntegerType, MapType, StringType, StructField}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.Format

/**
 * Where a column about the change comes from.
 *
 * @param read the value in Catalyst's representation, or null, by the values of the fields
 */
private[change] final case class ChangeSource(fields: Seq[EnvelopeField], read: Seq[Any] => Any)

private[change] object ChangeSource {

  /** @param key of [[io.github.dynamickafka.format.FormatMetadata]] */
  def of(format: Format, key: String, zone: ZoneId): ChangeSource = (format, key) match {
    case (Format.DebeziumAvroConfluent, _) => of(Format.DebeziumJson, key, zone)
    case (Format.DebeziumJson, "schema") =>
      ChangeSource(Seq(EnvelopeField(StructField("schema", StringType), outer = true)), _.head)
    case (Format.DebeziumJson, "ingestion-timestamp") => text("ts_ms", timestamp(_, 1L, zone))
    case (Format.DebeziumJson, "source.timestamp") => property("ts_ms", timestamp(_, 1L, zone))
    case (Format.DebeziumJson, "source.database") => property("db", identity)
    case (Format.DebeziumJson, "source.properties") => ChangeSource(Seq(source), _.head)
    case (Format.DebeziumJson, name) => property(name.stripPrefix("source."), identity)
    case (Format.CanalJson, "sql-type") => one("sqlType", MapType(StringType, IntegerType))
    case (Format.CanalJson, "pk-names") => one("pkNames", ArrayType(StringType))
    case (Format.CanalJson, "ingestion-timestamp") => text("ts", timestamp(_, 1L, zone))
    case (Format.CanalJson, "event-timestamp") => text("es", timestamp(_, 1L, zone))
    case (Format.MaxwellJson, "primary-key-columns") => one("primary_key_columns", ArrayType(StringType))
    // Seconds.
    case (Format.MaxwellJson, "ingestion-timestamp") => text("ts", timestamp(_, 1000L, zone))
    case (Format.OggJson, "primary-keys") => one("primary_keys", ArrayType(StringType))
    case (Format.OggJson, "ingestion-timestamp") => text("current_ts", timestamp(_, 1L, zone))
    case (Format.OggJson, "event-timestamp") => text("op_ts", timestamp(_, 1L, zone))
    case (_, name) => text(name, identity)
  }

  /** The column `source` of envelopes. */
  def ofEnvelope(format: Format): ChangeSource = format match {
    case Format.DebeziumJson | Format.DebeziumAvroConfluent => ChangeSource(Seq(source), _.head)
    case Format.OggJson => named("table" -> "table")
    case _ => named("database" -> "db", "table" -> "table")
  }

  /** The column `ts_ms` of envelopes. */
  def timeOfEnvelope(format: Format, zone: ZoneId): ChangeSource = {
    val micros = of(format, "ingestion-timestamp", zone)
    micros.copy(read =
      values =>
        micros.read(values) match {
          case found: Long => DateTimeUtils.microsToMillis(found)
          case _ => null
        }
    )
  }

  private val source = EnvelopeField(StructField("source", MapType(StringType, StringType)))

  private def one(name: String, dataType: DataType) =
    ChangeSource(Seq(EnvelopeField(StructField(name, dataType))), _.head)

  private def text(name: String, read: UTF8String => Any) =
    ChangeSource(Seq(EnvelopeField(StructField(name, StringType))), values => of(values.head, read))

  private def property(name: String, read: UTF8String => Any) = {
    val key = UTF8String.fromString(name)
    ChangeSource(Seq(source), values => of(lookUp(values.head, key), read))
  }

  /** A map of some fields, by other names; null if there are none. */
  private def named(names: (String, String)*) =
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

  private def of(value: Any, read: UTF8String => Any): Any = value match {
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
