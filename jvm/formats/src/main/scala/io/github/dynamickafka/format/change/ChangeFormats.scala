package io.github.dynamickafka.format.change

import java.nio.charset.StandardCharsets.UTF_8
import java.time.ZoneId

import scala.annotation.unused
import scala.util.Try

import org.apache.avro.Schema
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, DateTimeUtils, MapData}
import org.apache.spark.sql.types.{
  ArrayType,
  DataType,
  IntegerType,
  MapType,
  StringType,
  StructField,
  TimestampType
}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.avro.{AvroRegistry, AvroSettings, ConfluentAvroDecoder}
import io.github.dynamickafka.format.json.{JsonEncoder, JsonFormat, JsonWriter}
import io.github.dynamickafka.format.{
  ChangeKind,
  ChangeLayout,
  Decoder,
  Encoder,
  FormatMetadata,
  FormatRegistry,
  FormatSetting,
  FormatWriter,
  SchemasById,
  SideLayout,
  UnencodableException
}
import io.github.dynamickafka.option.OptionType
import io.github.dynamickafka.option.OptionType.boolean

/** Changes of a database's tables, as one tool describes them. */
private[format] abstract class ChangeFormat(name: String) extends JsonFormat(name) {

  /** The metadata of the format, and where it comes from. */
  private[change] def sources: Seq[(FormatMetadata, ZoneId => ChangeSource)]

  /** What a record means. */
  private[change] def dialect(side: SideLayout): Dialect

  /** The column `source` of envelopes. */
  private[change] def envelopeSource: ChangeSource =
    ChangeSource.named("database" -> "db", "table" -> "table")

  /** Whether the envelope is a field of another object. */
  private[change] def isWrapped(@unused side: SideLayout): Boolean = false

  /** How numbers become times, if the record says so. */
  private[change] def times(@unused side: SideLayout): Option[JsonTimes] = None

  private[change] final def source(key: String, zone: ZoneId): ChangeSource =
    sources.collectFirst { case (known, field) if known.key == key => field(zone) }.get

  override def isChange: Boolean = true
  override def metadata: Seq[FormatMetadata] = sources.map(_._1)
}

private[change] object ChangeFormat {
  val IngestionTimestamp = "ingestion-timestamp"

  def text(key: String, source: ChangeSource): (FormatMetadata, ZoneId => ChangeSource) =
    value(key, StringType, source)

  /** @param name of the field */
  def field(key: String, name: String, dataType: DataType): (FormatMetadata, ZoneId => ChangeSource) =
    value(key, dataType, ChangeSource.one(name, dataType))

  def value(key: String, dataType: DataType, source: ChangeSource): (FormatMetadata, ZoneId => ChangeSource) =
    FormatMetadata(key, dataType) -> (_ => source)

  def time(key: String, source: ZoneId => ChangeSource): (FormatMetadata, ZoneId => ChangeSource) =
    FormatMetadata(key, TimestampType) -> source

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

  override private[change] val sources = Seq(
    text(
      "schema",
      ChangeSource(Seq(EnvelopeField(StructField("schema", StringType), outer = true)), _.head)
    )
  ) ++ ofDebezium

  private[change] lazy val ofDebezium: Seq[(FormatMetadata, ZoneId => ChangeSource)] = Seq(
    time(IngestionTimestamp, ChangeSource.time("ts_ms", _)),
    time("source.timestamp", ChangeSource.timeProperty("ts_ms", _)),
    text("source.database", ChangeSource.property("db")),
    text("source.schema", ChangeSource.property("schema")),
    text("source.table", ChangeSource.property("table")),
    value("source.properties", MapType(StringType, StringType), ChangeSource.source)
  )

  override private[change] def dialect(side: SideLayout): Dialect =
    if (side.change.exists(_.envelope)) Dialect.DebeziumEnvelope else Dialect.Debezium

  override private[change] def envelopeSource: ChangeSource = ChangeSource.source

  override private[change] def isWrapped(side: SideLayout): Boolean =
    side.format.options.get(schemaInclude.name).exists(_.trim.toBoolean)

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
      OptionType(
        boolean.label,
        s => boolean.parse(s).flatMap(b => Either.cond(!b, b, "records are written without their schema."))
      )
    )

    override def settings: Seq[FormatSetting] = withoutSchema +: JsonWriter.settings
    override def forEncoder(set: Map[String, String]): Map[String, String] =
      super.forEncoder(set - schemaInclude.name)
  }
}

/** Debezium's envelopes in Avro, behind the id of their schema in a registry. */
private[dynamickafka] object DebeziumAvroConfluent extends ChangeFormat("debezium-avro-confluent") {
  override def readsAvroSchema: Boolean = true
  override def settings: Seq[FormatSetting] = AvroSettings.settings
  override def withoutEffect: Set[String] = AvroSettings.withoutEffect
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
    text("database", ChangeSource.text("database")),
    text("table", ChangeSource.text("table")),
    field("sql-type", "sqlType", MapType(StringType, IntegerType)),
    field("pk-names", "pkNames", ArrayType(StringType)),
    time(IngestionTimestamp, ChangeSource.time("ts", _)),
    time("event-timestamp", ChangeSource.time("es", _))
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
    text("database", ChangeSource.text("database")),
    text("table", ChangeSource.text("table")),
    field("primary-key-columns", "primary_key_columns", ArrayType(StringType)),
    // Seconds.
    time(IngestionTimestamp, ChangeSource.time("ts", _, unit = 1000L))
  )

  override private[change] def dialect(side: SideLayout): Dialect = Dialect.Maxwell
}

private[dynamickafka] object OggJson extends ChangeFormat("ogg-json") {
  import ChangeFormat._

  override private[change] val sources = Seq(
    text("table", ChangeSource.text("table")),
    field("primary-keys", "primary_keys", ArrayType(StringType)),
    time(IngestionTimestamp, ChangeSource.time("current_ts", _)),
    time("event-timestamp", ChangeSource.time("op_ts", _))
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

  def apply(row: Array[Byte]): Array[Byte] = {
    val all = new Array[Byte](start.length + row.length + end.length)
    System.arraycopy(start, 0, all, 0, start.length)
    System.arraycopy(row, 0, all, start.length, row.length)
    System.arraycopy(end, 0, all, start.length + row.length, end.length)
    all
  }
}

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
