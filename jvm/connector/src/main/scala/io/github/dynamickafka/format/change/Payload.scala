package io.github.dynamickafka.format.change

import scala.util.Try

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types.{
  BooleanType,
  ByteType,
  DataType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  ShortType,
  StringType,
  StructType
}

/**
 * The wanted columns of the changed table. Some tools write numbers as texts, which Spark's parser of JSON does not accept:
 * these columns can be parsed as texts and converted, as Flink does.
 *
 * @param schema the columns in the rows of the changes
 */
private[change] final class Payload(val schema: StructType) {

  /** The same columns, numbers and booleans as texts. */
  val texts: StructType = StructType(schema.map(f =>
    if (Payload.converters.contains(f.dataType)) f.copy(dataType = StringType) else f
  ))

  private val types: Array[DataType] = schema.fields.map(_.dataType)
  private val converters: Array[String => Any] = types.map(Payload.converters.getOrElse(_, null))
  private var failed: Option[String] = None

  /** The first column whose text did not fit since the last call. */
  def takeFailed(): Option[String] = {
    val found = failed
    failed = None
    found
  }

  /** @param row with the columns of [[texts]]; null if the record has none */
  def typed(row: InternalRow): InternalRow =
    if (row eq null) null
    else {
      val values = new Array[Any](types.length)
      var i = 0
      while (i < types.length) {
        values(i) =
          if (row.isNullAt(i)) null
          else if (converters(i) eq null) row.get(i, types(i))
          else converted(i, row.getUTF8String(i).toString)
        i += 1
      }
      new GenericInternalRow(values)
    }

  private def converted(i: Int, text: String): Any =
    Try(converters(i)(text.trim)).getOrElse {
      if (failed.isEmpty) failed = Some(schema(i).name)
      null
    }
}

private object Payload {

  private def boolean(text: String): Any = text.toLowerCase match {
    case "true" | "1" => true
    case "false" | "0" => false
    case _ => throw new IllegalArgumentException("not a boolean")
  }

  private def by(convert: String => Any): String => Any = convert

  private val converters: Map[DataType, String => Any] = Map(
    ByteType -> by(_.toByte),
    ShortType -> by(_.toShort),
    IntegerType -> by(_.toInt),
    LongType -> by(_.toLong),
    FloatType -> by(_.toFloat),
    DoubleType -> by(_.toDouble),
    BooleanType -> by(boolean)
  )
}
