package io.github.dynamickafka.format.custom

import java.{lang => jl}

import org.apache.spark.sql.catalyst.CatalystTypeConverters.{
  createToCatalystConverter,
  createToScalaConverter
}
import org.apache.spark.sql.types.{
  BinaryType,
  BooleanType,
  ByteType,
  DataType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  ShortType
}

/** Converts the values of one column between Spark's `Row` and Catalyst. */
private[custom] final class RowColumn(dataType: DataType) {
  private val convert = createToCatalystConverter(dataType)
  val toRow: Any => Any = createToScalaConverter(dataType)

  /** Spark does not check the classes of these, and would read a value of another class as one of this type. */
  private val expected: Class[_] = dataType match {
    case BooleanType => classOf[jl.Boolean]
    case ByteType => classOf[jl.Byte]
    case ShortType => classOf[jl.Short]
    case IntegerType => classOf[jl.Integer]
    case LongType => classOf[jl.Long]
    case FloatType => classOf[jl.Float]
    case DoubleType => classOf[jl.Double]
    case BinaryType => classOf[Array[Byte]]
    case _ => classOf[AnyRef]
  }

  /** @throws ClassCastException or another exception if the value does not have the type of the column */
  def toCatalyst(value: Any): Any = if (value == null) null else convert(expected.cast(value))
}
