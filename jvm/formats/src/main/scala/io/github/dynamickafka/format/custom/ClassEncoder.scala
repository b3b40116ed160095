package io.github.dynamickafka.format.custom

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow

import io.github.dynamickafka.extension.{CustomFormat, RecordWriter, TargetRecord}
import io.github.dynamickafka.format.{Encoder, SideSource, WriteContext}
import io.github.dynamickafka.option.NamedClass

/** Encodes by a class of the user. */
private[custom] final class ClassEncoder(fields: SideSource.Fields) extends Encoder {
  private val className = fields.format.format.name.stripPrefix(ClassFormat.Prefix)
  private val writer: RecordWriter =
    NamedClass.create(className, classOf[CustomFormat]).fold(
      reason => throw new IllegalArgumentException(reason),
      _.writer(fields.schema)
    )
  private val columns = fields.schema.fields.map(field => new RowColumn(field.dataType))
  private val shown = new Shown

  override def within(context: WriteContext): Unit = shown.context = context

  override def encode(row: InternalRow): Array[Byte] =
    writer.write(
      Row.fromSeq(columns.indices.map(i =>
        if (row.isNullAt(i)) null else columns(i).toRow(row.get(i, fields.schema(i).dataType))
      )),
      shown
    )

  override def close(): Unit = writer.close()

  private final class Shown extends TargetRecord {
    var context: WriteContext = _
    override def topic: String = context.topic
    override def cluster: String = context.cluster
    override def addHeader(name: String, value: Array[Byte]): Unit = context.addHeader(name, value)
  }
}
