package io.github.dynamickafka.format.change

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericRecord, IndexedRecord}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData
import org.apache.spark.sql.types.{MapType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.avro.{AvroBody, AvroRows, ConfluentAvroDecoder, RegistryAvro}
import io.github.dynamickafka.format.{AvroSchemas, DecodeFailure, DecodedValues, SchemasById, SideLayout}

/**
 * Reads Debezium's envelopes in Avro, with the id of their schema in a registry. Rows are converted as with `avro-confluent`; what
 * describes the change becomes text, as in JSON. Not thread-safe.
 */
private[change] final class AvroEnvelope(side: SideLayout, fields: Seq[StructField]) extends Envelope {
  import AvroEnvelope._

  private val values = new DecodedValues(fields.map(_.dataType).toArray)
  private val names = fields.map(_.name).toSet
  private val row: Option[Schema] = side.avro.map(AvroSchemas.parse)
  private val decoder = ConfluentAvroDecoder.by(body, SchemasById.of(side))

  override def from(cluster: String): Unit = decoder.from(cluster)
  override def parse(record: Array[Byte]): DecodeFailure = decoder.decode(record, values)
  override def get(field: Int): Any = values.get(field)

  /** Debezium's records have one row each, which is complete. */
  override def rows(field: Int): Option[Array[InternalRow]] = None
  override def before(old: InternalRow, after: InternalRow, index: Int): InternalRow = old

  private def body(writer: Schema): Either[String, AvroBody] =
    if (DebeziumAvro.row(writer).isEmpty)
      Left("the schema it was written with is not that of an envelope with 'before' and 'after'")
    else {
      val reader = DebeziumAvro.reader(writer, row, names)
      RegistryAvro.resolved(writer, reader).map(new AvroBody(_, reader, show(reader)))
    }

  /** Shows the fields of a record that has the schema. */
  private def show(schema: Schema): (Any, DecodedValues) => Unit = {
    val known = for {
      (field, i) <- fields.zipWithIndex
      found <- Option(schema.getField(field.name))
    } yield (i, found.pos, conversion(field, schema))
    (record, into) =>
      known.foreach { case (i, position, convert) =>
        val value = record.asInstanceOf[IndexedRecord].get(position)
        into.setObject(i, if (value == null) null else convert(value))
      }
  }

  private def conversion(field: StructField, schema: Schema): Any => AnyRef = field.dataType match {
    case columns: StructType =>
      AvroRows(DebeziumAvro.field(schema, field.name).get, columns, side.format.options)
    case _: MapType => mapOf(_)
    case _ => textOf(_)
  }
}

private object AvroEnvelope {

  private def textOf(value: Any): UTF8String =
    if (value == null) null else UTF8String.fromString(value.toString)

  private def mapOf(value: Any): ArrayBasedMapData = value match {
    case record: GenericRecord =>
      val fields = record.getSchema.getFields.asScala
      val values = fields.iterator.map(f => f.name -> record.get(f.pos))
      ArrayBasedMapData(values, fields.size, textOf(_), textOf(_))
    case other: ju.Map[_, _] => ArrayBasedMapData(other, textOf(_), textOf(_))
    case _ => null
  }
}

/** The Avro schemas of Debezium's records: an envelope with the row before and the row after a change. Pure. */
private[dynamickafka] object DebeziumAvro {
  private val Before = "before"
  private val After = "after"

  /** The schema of the rows; None: this is no envelope. */
  def row(envelope: Schema): Option[Schema] = field(envelope, After).orElse(field(envelope, Before))

  /** The schema of a row in the envelope. */
  def field(envelope: Schema, name: String): Option[Schema] =
    record(envelope).flatMap(e => Option(e.getField(name))).flatMap(f => record(f.schema))

  /**
   * The schema to read envelopes with.
   *
   * @param row the schema of the rows that is wanted; None: that of the envelope
   * @param names the fields that are wanted, as far as the envelope has them
   */
  def reader(writer: Schema, row: Option[Schema], names: Set[String]): Schema = {
    // Avro compares names of records in unions, and connectors name records after databases and tables.
    val own = this.row(writer).flatMap(w => row.map(renamed(_, w.getFullName)))
    val fields = writer.getFields.asScala.filter(f => names.contains(f.name)).map { f =>
      val isRow = f.name == Before || f.name == After
      new Schema.Field(f, own.filter(_ => isRow).fold(f.schema)(replaced(f.schema, _)))
    }
    Schema.createRecord(writer.getFullName, null, null, false, fields.asJava)
  }

  /** The schema of a record with another name. */
  def renamed(record: Schema, name: String): Schema =
    if (record.getFullName == name) record
    else {
      val fields = record.getFields.asScala.map(f => new Schema.Field(f, f.schema))
      Schema.createRecord(name, null, null, false, fields.asJava)
    }

  private def replaced(schema: Schema, row: Schema): Schema = schema.getType match {
    case Schema.Type.RECORD => row
    case Schema.Type.UNION => Schema.createUnion(schema.getTypes.asScala.map(replaced(_, row)).asJava)
    case _ => schema
  }

  private def record(schema: Schema): Option[Schema] = schema.getType match {
    case Schema.Type.RECORD => Some(schema)
    case Schema.Type.UNION => schema.getTypes.asScala.find(_.getType == Schema.Type.RECORD)
    case _ => None
  }
}
