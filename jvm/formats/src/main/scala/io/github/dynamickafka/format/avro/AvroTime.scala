package io.github.dynamickafka.format.avro

import org.apache.avro.Schema

/** What numbers and texts mean that are dates or times. */
private[format] sealed trait AvroTime extends Product with Serializable

/**
 * By the names that Kafka Connect and Debezium give the types of fields: Avro's schemas have them as `connect.name`, the schemas in
 * records of JSON as `name`. Only Connect's own types are logical types of Avro too.
 */
private[format] object AvroTime {

  /** Days since 1970. */
  case object Days extends AvroTime

  /** ISO 8601. */
  case object Text extends AvroTime

  /** A number that is neither a date nor a time since 1970: a time of day, a year or a duration, in this unit. */
  final case class Other(unit: String) extends AvroTime

  /** Since 1970. */
  sealed abstract class Instant(val logicalType: String) extends AvroTime {

    /** @throws ArithmeticException if there is no such time */
    def micros(value: Long): Long
  }
  case object Millis extends Instant("timestamp-millis") {
    override def micros(value: Long): Long = Math.multiplyExact(value, 1000L)
  }
  case object Micros extends Instant("timestamp-micros") {
    override def micros(value: Long): Long = value
  }
  case object Nanos extends Instant("timestamp-nanos") {
    override def micros(value: Long): Long = Math.floorDiv(value, 1000L)
  }

  /** Debezium's dates and times of ISO 8601 end with UTC, which Spark's dates and local times do not have: `2018-06-20Z`. */
  def withoutZone(text: String): String = text.stripSuffix("Z")

  def named(name: String): Option[AvroTime] = byName.get(name)

  /** Of a field: by its logical type, or by its name in Connect. */
  def of(schema: Schema): Option[AvroTime] =
    Option(schema.getLogicalType).flatMap(t => byLogicalType.get(t.getName.stripPrefix("local-")))
      .orElse(ofConnect(schema))

  def ofConnect(schema: Schema): Option[AvroTime] = Option(schema.getProp("connect.name")).flatMap(named)

  private val OfDayMillis = Other("milliseconds of the day")
  private val OfDayMicros = Other("microseconds of the day")
  val DurationMicros: AvroTime = Other("microseconds")

  private val byLogicalType: Map[String, AvroTime] =
    (Seq(Millis, Micros, Nanos).map(i => i.logicalType -> i) :+ ("date" -> Days)).toMap ++
      Seq("time-millis" -> OfDayMillis, "time-micros" -> OfDayMicros)

  private val byName: Map[String, AvroTime] = {
    val debezium = Seq(
      "Date" -> Days,
      "Timestamp" -> Millis,
      "MicroTimestamp" -> Micros,
      "NanoTimestamp" -> Nanos,
      "Time" -> OfDayMillis,
      "MicroTime" -> OfDayMicros,
      "NanoTime" -> Other("nanoseconds of the day"),
      "Year" -> Other("years"),
      "MicroDuration" -> DurationMicros,
      "NanoDuration" -> Other("nanoseconds"),
      "ZonedTimestamp" -> Text,
      "IsoDate" -> Text,
      "IsoTimestamp" -> Text
    ).map { case (name, time) => s"io.debezium.time.$name" -> time }
    val connect = Seq("Date" -> Days, "Timestamp" -> Millis, "Time" -> OfDayMillis)
      .map { case (name, time) => s"org.apache.kafka.connect.data.$name" -> time }
    (debezium ++ connect).toMap
  }
}
