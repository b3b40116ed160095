package io.github.dynamickafka.format.custom

import java.{lang => jl}

import org.apache.spark.sql.catalyst.CatalystTypeConverters.{
  createToCatalystConverter,
  createToScalaConverter
}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.types._

/** Converts the values of one column between Spark's `Row` and Catalyst. */
private[custom] final class RowColumn(dataType: DataType) {
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
