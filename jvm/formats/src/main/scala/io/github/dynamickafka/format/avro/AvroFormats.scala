package io.github.dynamickafka.format.avro

import java.io.ByteArrayOutputStream
import java.{util => ju}

import scala.annotation.unused
import scala.jdk.CollectionConverters._

import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType.COMPATIBLE
import org.apache.avro.data.TimeConversions
import org.apache.avro.generic.{GenericDatumWriter, IndexedRecord}
import org.apache.avro.io.{BinaryEncoder, DatumWriter, EncoderFactory}
import org.apache.avro.specific.{SpecificData, SpecificDatumWriter}
import org.apache.avro.{AvroRuntimeException, Conversions, Schema, SchemaCompatibility}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.FormatSetting.texts
import io.github.dynamickafka.format._
import io.github.dynamickafka.option.OptionType.{boolean, int, text}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

private[format] trait AvroFormat extends Format {
  override def readsAvroSchema: Boolean = true

  override def settings: Seq[FormatSetting] = texts("datetimeRebaseMode") ++ Seq(
    FormatSetting("stableIdentifierPrefixForUnionType", text, decidesColumns = true),
    FormatSetting("enableStableIdentifiersForUnionType", boolean, decidesColumns = true),
    FormatSetting("recursiveFieldMaxDepth", int(min = -1), decidesColumns = true)
  )

  override def withoutEffect: Set[String] =
    Set("compression", "recordName", "recordNamespace", "ignoreExtension", "codec")
}

/** Avro's binary encoding, of a schema that the query has. */
private[dynamickafka] object Avro extends Format("avro") with AvroFormat {
  override def refused(option: String): Option[String] = Option.when(option == "avroschema")("use 'schema'.")
  override def avroSchema(columns: StructType): Option[String] = Some(AvroSchemas.of(columns).toString)
  override def decoder(side: SideLayout): Decoder = {
    val schema = AvroSchemas.of(side.avro, side.schema)
    AvroBody(schema, schema, side).whole
  }
  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer extends FormatWriter {
    override def refused(option: String): Option[String] = Avro.refused(option)
    override def encoder(fields: SideLayout): Encoder = new AvroEncoder(fields)
  }
}

/** Avro behind the id of its schema in a registry. */
private[dynamickafka] object AvroConfluent extends Format("avro-confluent") with AvroFormat {
  override def registry: Option[FormatRegistry] = Some(new AvroRegistry)
  override def decoder(side: SideLayout): Decoder = ConfluentAvroDecoder(side, SchemasById.of(side))
  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer extends FormatWriter {
    override def encoder(fields: SideLayout): Encoder = new AvroEncoder(fields)

    /** The schema, with the schemas that it refers to in its text. */
    override def schema(fields: SideLayout): Option[RegisteredSchema] =
      Some(fields.registered.filter(_.references.isEmpty).getOrElse(
        RegisteredSchema(
          RegisteredSchema.Avro,
          fields.avro.getOrElse(AvroSchemas.of(fields.schema).toString)
        )
      ))
  }
}

private[format] class AvroRegistry extends FormatRegistry {

  /** The schema with the columns, or why there is none. */
  protected def rows(schema: Schema): Either[String, Schema] = Right(schema)

  /** The schema that records were written with, for the comparison with that of the query. */
  protected def comparable(written: Schema, @unused wanted: Schema): Schema = written

  override def kind: String = RegisteredSchema.Avro

  /** Complete in itself, because references are not known where the text is parsed again. */
  override def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema] =
    try rows(RegistryAvro.parse(schema)).flatMap(s => SchemaText.parse(s.toString, side.options))
    catch { case e: AvroRuntimeException => Left(String.valueOf(e.getMessage)) }

  override def difference(wanted: DeclaredSchema, written: DeclaredSchema): Option[String] =
    wanted.avro.zip(written.avro).fold(super.difference(wanted, written)) { case (reader, writer) =>
      val r = AvroSchemas.parse(reader)
      val w = comparable(AvroSchemas.parse(writer), r)
      val result = SchemaCompatibility.checkReaderWriterCompatibility(r, w)
      if (result.getType != COMPATIBLE)
        result.getResult.getIncompatibilities.asScala.headOption.map(i => s"${i.getType} at ${i.getLocation}")
          .orElse(Some("it is incompatible"))
      else RegistryAvro.difference(w, r).map(path => s"'$path' has another logical type")
    }
}

/** Encodes fields in Avro's binary encoding without a header, by Spark's serializer, as `to_avro` does. */
private[format] final class AvroEncoder(side: SideLayout) extends Encoder {
  private val schema = AvroSchemas.of(side.avro, side.schema)
  private val toRecord = DynamicKafkaAvro.serializer(schema, side.schema)
  private val writer = new GenericDatumWriter[Any](schema)
  private val out = new AvroOutput

  override def encode(row: InternalRow): Array[Byte] = out.bytes(writer, toRecord(row))
}

/** Avro's binary encoding of one record after the other. Not thread-safe. */
private final class AvroOutput {
  private val out = new ByteArrayOutputStream
  private var encoder: BinaryEncoder = _

  def bytes[A](writer: DatumWriter[A], record: A): Array[Byte] = {
    out.reset()
    encoder = EncoderFactory.get().directBinaryEncoder(out, encoder)
    writer.write(record, encoder)
    encoder.flush()
    out.toByteArray
  }
}

/**
 * Avro records of another library as columns. They are encoded with their own schema and decoded as all others, so that generated
 * classes, objects for logical types, units and scales are treated alike. Not thread-safe.
 */
private[dynamickafka] final class AvroRecords(side: SideLayout) {
  import AvroRecords._

  private val bodies = new AvroBodies(side)
  private val written = new ju.HashMap[Schema, Written]
  private val out = new AvroOutput

  // Most records have the schema of the one before.
  private var lastSchema: Schema = _
  private var last: Written = _

  /** @return null if the record is good */
  def show(record: IndexedRecord, into: DecodedValues): DecodeFailure = {
    if (record.getSchema ne lastSchema) {
      lastSchema = record.getSchema
      last = written.computeIfAbsent(
        lastSchema,
        schema =>
          Written(
            new SpecificDatumWriter[IndexedRecord](schema, model),
            bodies.of(schema).fold(new BadBody(_), identity)
          )
      )
    }
    last.body.decode(out.bytes(last.writer, record), 0, into)
  }
}

private[dynamickafka] object AvroRecords {
  private final case class Written(writer: SpecificDatumWriter[IndexedRecord], body: RecordBody)

  /** Records may have objects for logical types, which depends on how they were made. */
  private val model: SpecificData = {
    val data = new SpecificData
    Seq(
      new Conversions.DecimalConversion,
      new Conversions.UUIDConversion,
      new TimeConversions.DateConversion,
      new TimeConversions.TimeMillisConversion,
      new TimeConversions.TimeMicrosConversion,
      new TimeConversions.TimestampMillisConversion,
      new TimeConversions.TimestampMicrosConversion,
      new TimeConversions.LocalTimestampMillisConversion,
      new TimeConversions.LocalTimestampMicrosConversion
    ).foreach(data.addLogicalTypeConversion(_))
    data
  }

  def writer(fields: SideLayout): InternalRow => AnyRef = {
    val toRecord = DynamicKafkaAvro.serializer(AvroSchemas.of(fields.avro, fields.schema), fields.schema)
    row => toRecord(row).asInstanceOf[AnyRef]
  }
}
