package io.github.dynamickafka.format

import java.{lang => jl, util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters.{
  createToCatalystConverter,
  createToScalaConverter
}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._

import io.github.dynamickafka.extension.{
  CustomFormat,
  RecordHeader,
  RecordReader,
  RecordWriter,
  SourceRecord,
  TargetRecord
}
import io.github.dynamickafka.option.NamedClass

/** A format that a class of the user implements: `format=class:<name>`. */
private[dynamickafka] final case class ClassFormat(className: String, columns: Option[StructType])
    extends Format(ClassFormat.Prefix + className) {
  override def fixedSchema: Option[StructType] = columns
  override def decodesFields: Boolean = false
  override def decoder(side: SideLayout): Decoder = new ClassDecoder(className, side)
  override def writer: Option[FormatWriter] = Some(ClassFormat.Writer)
}

private[dynamickafka] object ClassFormat {
  val Prefix = "class:"

  /** The format of a text that names a class, or why it is none; None for all other texts. */
  def parse(text: String): Option[Either[String, ClassFormat]] =
    Option.when(text.toLowerCase(java.util.Locale.ROOT).startsWith(Prefix)) {
      val name = text.drop(Prefix.length).trim
      // Some classes determine the columns of a table, so an instance is needed before there is a task.
      NamedClass.create(name, classOf[CustomFormat]).map(created =>
        ClassFormat(name, Option(created.schema()))
      )
    }

  private[format] def created(className: String): CustomFormat =
    NamedClass.create(className, classOf[CustomFormat]).fold(
      reason => throw new IllegalArgumentException(reason),
      identity
    )

  private object Writer extends FormatWriter {
    override def encoder(fields: SideLayout): Encoder = new ClassEncoder(fields)
  }
}

private[format] final class ClassDecoder(className: String, side: SideLayout) extends Decoder {
  private val reader: RecordReader = ClassFormat.created(className).reader(side.schema)
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
        DecodeFailure(s"$className returned ${row.length} values for ${columns.length} columns")
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
      // The message of the user's exception may contain a part of the record.
      case NonFatal(e) if column < 0 =>
        DecodeFailure(s"$className threw ${e.getClass.getSimpleName}")
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

private[format] final class ClassEncoder(fields: SideLayout) extends Encoder {
  private val className = fields.format.format.name.stripPrefix(ClassFormat.Prefix)
  private val writer: RecordWriter = ClassFormat.created(className).writer(fields.schema)
  private val columns = fields.schema.fields.map(field => new RowColumn(field.dataType))
  private var shown: TargetRecord = _

  override def within(record: TargetRecord): Unit = shown = record

  override def encode(row: InternalRow): Array[Byte] =
    writer.write(
      Row.fromSeq(columns.indices.map(i =>
        if (row.isNullAt(i)) null else columns(i).toRow(row.get(i, fields.schema(i).dataType))
      )),
      shown
    )

  override def close(): Unit = writer.close()
}

/** Converts the values of one column between Spark's `Row` and Catalyst. */
private[format] final class RowColumn(dataType: DataType) {
  private val convert = createToCatalystConverter(dataType)
  val toRow: Any => Any = createToScalaConverter(dataType)

  /** @throws ClassCastException or another exception if the value does not have the type of the column */
  def toCatalyst(value: Any): Any = {
    val made = convert(value)
    if (!fits(dataType, made)) throw new ClassCastException(dataType.sql)
    made
  }

  /** Spark does not check the classes of some, and would read a value of another class as one of this type. */
  private def fits(dataType: DataType, value: Any): Boolean = value == null || (dataType match {
    case BooleanType => value.isInstanceOf[jl.Boolean]
    case ByteType => value.isInstanceOf[jl.Byte]
    case ShortType => value.isInstanceOf[jl.Short]
    case IntegerType => value.isInstanceOf[jl.Integer]
    case LongType => value.isInstanceOf[jl.Long]
    case FloatType => value.isInstanceOf[jl.Float]
    case DoubleType => value.isInstanceOf[jl.Double]
    case BinaryType => value.isInstanceOf[Array[Byte]]
    case StructType(fields) =>
      val row = value.asInstanceOf[InternalRow]
      fields.indices.forall(i => fits(fields(i).dataType, row.get(i, fields(i).dataType)))
    case ArrayType(element, _) => all(element, value.asInstanceOf[ArrayData])
    case MapType(key, item, _) =>
      val map = value.asInstanceOf[MapData]
      all(key, map.keyArray()) && all(item, map.valueArray())
    case _ => true
  })

  private def all(element: DataType, values: ArrayData): Boolean =
    (0 until values.numElements()).forall(i => fits(element, values.get(i, element)))
}
