package io.github.dynamickafka.format.change

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.time.ZoneId

import scala.annotation.unused
import scala.util.Try

import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, DateTimeUtils, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format._
import io.github.dynamickafka.format.avro.{AvroFormat, AvroRegistry, ConfluentAvroDecoder}
import io.github.dynamickafka.format.json.{JsonEncoder, JsonFormat, JsonWriter}
import io.github.dynamickafka.option.OptionType
import io.github.dynamickafka.option.OptionType.boolean

/** Changes of a database's tables, as one tool describes them. */
private[format] abstract class ChangeFormat(name: String) extends JsonFormat(name) {

  /** Where the metadata of the format come from, by their keys. */
  private[change] def sources: Seq[(String, ChangeSource)]
  private[change] def dialect(side: SideLayout): Dialect

  /** The column `source` of envelopes. */
  private[change] def envelopeSource: ChangeSource =
    ChangeSource.named("database" -> "db", "table" -> "table")

  /** Whether the envelope is a field of another object. */
  private[change] def isWrapped(@unused side: SideLayout): Boolean = false

  /** How numbers become times, if the record says so. */
  private[change] def times(@unused side: SideLayout): Option[JsonTimes] = None

  override def isChange: Boolean = true
  override def metadata: Seq[FormatMetadata] =
    sources.map { case (key, source) => FormatMetadata(key, source.dataType) }
}

private[change] object ChangeFormat {
  val IngestionTimestamp = "ingestion-timestamp"

  /** What is written has two kinds of records, and a row of each is JSON. */
  class Writer(inserted: SurroundingText, deleted: SurroundingText) extends JsonWriter {
    override def encoder(fields: SideLayout): Encoder = new ChangeEncoder(fields, inserted, deleted)
  }
}

private[dynamickafka] object DebeziumJson extends ChangeFormat("debezium-json") {
  import ChangeFormat._

  /** Whether records contain their schema. */
  private val schemaInclude = FormatSetting("schemaInclude", boolean)

  override val settings: Seq[FormatSetting] = schemaInclude +: JsonFormat.settings

  override private[change] val sources =
    ("schema" -> ChangeSource.field("schema", StringType, outer = true)) +: ofDebezium

  private[change] lazy val ofDebezium: Seq[(String, ChangeSource)] = Seq(
    IngestionTimestamp -> ChangeSource.time("ts_ms"),
    "source.timestamp" -> ChangeSource.timeOf(ChangeSource.property("ts_ms")),
    "source.database" -> ChangeSource.property("db"),
    "source.schema" -> ChangeSource.property("schema"),
    "source.table" -> ChangeSource.property("table"),
    "source.properties" -> ChangeSource.source
  )

  override private[change] def dialect(side: SideLayout): Dialect =
    if (side.change.exists(_.envelope)) Dialect.DebeziumEnvelope else Dialect.Debezium

  override private[change] def envelopeSource: ChangeSource = ChangeSource.source

  override private[change] def isWrapped(side: SideLayout): Boolean =
    schemaInclude.isOn(side.format.options)

  override private[change] def times(side: SideLayout): Option[JsonTimes] =
    Some(new JsonTimes(side.format.options))

  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer
      extends ChangeFormat.Writer(
        new SurroundingText("""{"before":null,"after":""", ""","op":"c"}"""),
        new SurroundingText("""{"before":""", ""","after":null,"op":"d"}""")
      ) {

    /** What is written has no schema in it, as in Flink. */
    private val withoutSchema = schemaInclude.copy(valueType =
      boolean.copy(parse =
        boolean.parse(_).filterOrElse(!_, "records are written without their schema.")
      )
    )

    override def settings: Seq[FormatSetting] = withoutSchema +: JsonWriter.settings
    override def forEncoder(set: Map[String, String]): Map[String, String] =
      super.forEncoder(set - schemaInclude.name)
  }
}

/** Debezium's envelopes in Avro, behind the id of their schema in a registry. */
private[dynamickafka] object DebeziumAvroConfluent extends ChangeFormat("debezium-avro-confluent")
    with AvroFormat {
  override private[change] def sources = DebeziumJson.ofDebezium
  override private[change] def dialect(side: SideLayout): Dialect = DebeziumJson.dialect(side)
  override private[change] def envelopeSource: ChangeSource = ChangeSource.source

  /** Decodes the rows inside the records. */
  override def decoder(side: SideLayout): Decoder = ConfluentAvroDecoder(side, SchemasById.of(side))
  override def registry: Option[FormatRegistry] = Some(Registry)

  private object Registry extends AvroRegistry {
    override protected def rows(schema: Schema): Either[String, Schema] =
      DebeziumAvro.row(schema).toRight("it is not Debezium's: it has no records 'before' and 'after'.")

    /** Debezium names rows after the table, which the decoder does not look at. */
    override protected def comparable(written: Schema, wanted: Schema): Schema =
      DebeziumAvro.renamed(written, wanted.getFullName)
  }
}

private[dynamickafka] object CanalJson extends ChangeFormat("canal-json") {
  import ChangeFormat._

  /** Regular expressions that match names in full. */
  private val include = Seq("database.include", "table.include").map(
    FormatSetting(
      _,
      OptionType.regex,
      refusedInWrites = Some("records are written without the fields 'database' and 'table'.")
    )
  )

  override val settings: Seq[FormatSetting] = include ++ JsonFormat.settings

  override private[change] val sources = Seq(
    "database" -> ChangeSource.field("database", StringType),
    "table" -> ChangeSource.field("table", StringType),
    "sql-type" -> ChangeSource.field("sqlType", MapType(StringType, IntegerType)),
    "pk-names" -> ChangeSource.field("pkNames", ArrayType(StringType)),
    IngestionTimestamp -> ChangeSource.time("ts"),
    "event-timestamp" -> ChangeSource.time("es")
  )

  override private[change] def dialect(side: SideLayout): Dialect = {
    val Seq(database, table) = include.map(setting => side.format.options.get(setting.name).map(_.r))
    new Dialect.Canal(database, table)
  }

  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer extends ChangeFormat.Writer(surrounding("INSERT"), surrounding("DELETE"))

  private def surrounding(kind: String) = new SurroundingText("""{"data":[""", s"""],"type":"$kind"}""")
}

private[dynamickafka] object MaxwellJson extends ChangeFormat("maxwell-json") {
  import ChangeFormat._

  override private[change] val sources = Seq(
    "database" -> ChangeSource.field("database", StringType),
    "table" -> ChangeSource.field("table", StringType),
    "primary-key-columns" -> ChangeSource.field("primary_key_columns", ArrayType(StringType)),
    // Seconds.
    IngestionTimestamp -> ChangeSource.time("ts", unit = 1000L)
  )

  override private[change] def dialect(side: SideLayout): Dialect = Dialect.Maxwell
}

private[dynamickafka] object OggJson extends ChangeFormat("ogg-json") {
  import ChangeFormat._

  override private[change] val sources = Seq(
    "table" -> ChangeSource.field("table", StringType),
    "primary-keys" -> ChangeSource.field("primary_keys", ArrayType(StringType)),
    IngestionTimestamp -> ChangeSource.time("current_ts"),
    "event-timestamp" -> ChangeSource.time("op_ts")
  )

  override private[change] def dialect(side: SideLayout): Dialect = Dialect.Ogg
  override private[change] def envelopeSource: ChangeSource = ChangeSource.named("table" -> "table")
}

/**
 * Encodes a change of one row as Flink does, with two kinds of records: an update is the deletion of the row before it and the
 * insertion of the row after it. The input has two columns, a struct with the fields and the kind of the change.
 *
 * @param inserted what surrounds a row that was inserted, and `deleted` one that was deleted
 */
private[change] final class ChangeEncoder(
    side: SideLayout,
    inserted: SurroundingText,
    deleted: SurroundingText
) extends Encoder {
  import ChangeKind._

  private val row = new JsonEncoder(side)
  private val width = side.schema.length

  override def encode(change: InternalRow): Array[Byte] = {
    val surrounding = change.getUTF8String(1) match {
      case Insert | Postimage => inserted
      case Delete | Preimage => deleted
      case other => throw new UnencodableException(
          s"the column '${ChangeLayout.TypeColumn}' ${if (other eq null) "is null" else "has another value"}; allowed are $Names"
        )
    }
    surrounding(row.encode(change.getStruct(0, width)))
  }
}

/** What is before and after the object of the row. */
private[change] final class SurroundingText(before: String, after: String) {
  private val (start, end) = (before.getBytes(UTF_8), after.getBytes(UTF_8))

  def apply(row: Array[Byte]): Array[Byte] =
    ByteBuffer.allocate(start.length + row.length + end.length).put(start).put(row).put(end).array
}

/**
 * Where a column about the change comes from.
 *
 * @param read the value in Catalyst's representation, or null, by the values of the fields, in the time zone
 */
private[change] final case class ChangeSource(
    dataType: DataType,
    fields: Seq[EnvelopeField],
    read: (Seq[Any], ZoneId) => Any
)

private[change] object ChangeSource {
  def field(name: String, dataType: DataType, outer: Boolean = false): ChangeSource =
    ChangeSource(dataType, Seq(EnvelopeField(StructField(name, dataType), outer)), (values, _) => values.head)

  /** Debezium's field of this name, a map. */
  val source: ChangeSource = field("source", MapType(StringType, StringType))

  /** A field of `source`. */
  def property(name: String): ChangeSource = {
    val key = UTF8String.fromString(name)
    ChangeSource(StringType, source.fields, (values, _) => lookUp(values.head, key))
  }

  /** A map of some fields, by other names; null if there are none. */
  def named(names: (String, String)*): ChangeSource =
    ChangeSource(
      source.dataType,
      names.map { case (field, _) => EnvelopeField(StructField(field, StringType)) },
      { (values, _) =>
        val found = names.zip(values).collect { case ((_, name), value) if value != null => name -> value }
        if (found.isEmpty) null
        else ArrayBasedMapData(found.iterator, found.size, n => UTF8String.fromString(n.toString), identity)
      }
    )

  /** A time in a field that is text. */
  def time(name: String, unit: Long = 1L): ChangeSource = timeOf(field(name, StringType), unit)

  def timeOf(text: ChangeSource, unit: Long = 1L): ChangeSource = ChangeSource(
    TimestampType,
    text.fields,
    (values, zone) => Option(text.read(values, zone)).map(t => timestamp(t.toString, unit, zone)).orNull
  )

  /** The column `ts_ms` of envelopes. */
  def milliseconds(micros: ChangeSource): ChangeSource = micros.copy(read =
    (values, zone) =>
      micros.read(values, zone) match {
        case found: Long => DateTimeUtils.microsToMillis(found)
        case _ => null
      }
  )

  private def lookUp(value: Any, key: UTF8String): Any = value match {
    case map: MapData =>
      val keys = map.keyArray()
      val at = (0 until map.numElements()).indexWhere(keys.getUTF8String(_) == key)
      if (at < 0 || map.valueArray().isNullAt(at)) null else map.valueArray().getUTF8String(at)
    case _ => null
  }

  /** Microseconds of a number in `unit` milliseconds, or of a text with date and time; null if it is neither. */
  private def timestamp(text: String, unit: Long, zone: ZoneId): Any =
    text.trim.toLongOption.flatMap(n => Try(Math.multiplyExact(n, unit * 1000L): Any).toOption)
      .orElse(DateTimeUtils.stringToTimestamp(UTF8String.fromString(text), zone)).orNull
}
