package io.github.dynamickafka.format.change

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema

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

  /** The same record by another name. */
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
