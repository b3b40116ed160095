package io.github.dynamickafka.format

import java.lang.{Double => JDouble, Float => JFloat}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types._

/**
 * The decoded fields of one record, without boxes for numbers. One object is reused for all records of a task. Not
 * thread-safe.
 */
private[dynamickafka] final class DecodedValues(types: Array[DataType]) {
  private val numbers = new Array[Long](types.length)
  private val objects = new Array[AnyRef](types.length)
  private val set = new Array[Boolean](types.length)
  private val kinds: Array[Int] = types.map(DecodedValues.kindOf)

  /** Makes all fields null. */
  def clear(): Unit = java.util.Arrays.fill(set, false)

  def isNullAt(i: Int): Boolean = !set(i)
  def setNullAt(i: Int): Unit = set(i) = false

  def setLong(i: Int, value: Long): Unit = {
    numbers(i) = value
    set(i) = true
  }

  def setDouble(i: Int, value: Double): Unit = setLong(i, JDouble.doubleToRawLongBits(value))
  def setFloat(i: Int, value: Float): Unit = setLong(i, JFloat.floatToRawIntBits(value).toLong)
  def setBoolean(i: Int, value: Boolean): Unit = setLong(i, if (value) 1L else 0L)

  /** @param value in Catalyst's representation, or null */
  def setObject(i: Int, value: AnyRef): Unit = {
    objects(i) = value
    set(i) = value ne null
  }

  /** @param value as [[setObject]]; numbers are boxed */
  def setAny(i: Int, value: Any): Unit = value match {
    case v: Boolean => setBoolean(i, v)
    case v: Byte => setLong(i, v.toLong)
    case v: Short => setLong(i, v.toLong)
    case v: Int => setLong(i, v.toLong)
    case v: Long => setLong(i, v)
    case v: Float => setFloat(i, v)
    case v: Double => setDouble(i, v)
    case v => setObject(i, v.asInstanceOf[AnyRef])
  }

  /** Sets the fields of these indexes to the values of a row. */
  def setAll(indexes: Array[Int], row: InternalRow, schema: StructType): Unit = {
    var i = 0
    while (i < indexes.length) {
      setAny(indexes(i), if (row.isNullAt(i)) null else row.get(i, schema(i).dataType))
      i += 1
    }
  }

  def getLong(i: Int): Long = numbers(i)
  def getDouble(i: Int): Double = JDouble.longBitsToDouble(numbers(i))
  def getFloat(i: Int): Float = JFloat.intBitsToFloat(numbers(i).toInt)
  def getBoolean(i: Int): Boolean = numbers(i) != 0L
  def getObject(i: Int): AnyRef = objects(i)

  /** The value as Spark represents it in a row of objects. */
  def get(i: Int): Any =
    if (!set(i)) null
    else kinds(i) match {
      case DecodedValues.Booleans => getBoolean(i)
      case DecodedValues.Bytes => numbers(i).toByte
      case DecodedValues.Shorts => numbers(i).toShort
      case DecodedValues.Ints => numbers(i).toInt
      case DecodedValues.Longs => numbers(i)
      case DecodedValues.Floats => getFloat(i)
      case DecodedValues.Doubles => getDouble(i)
      case _ => objects(i)
    }
}

private[dynamickafka] object DecodedValues {
  private final val Objects = 0
  private final val Booleans = 1
  private final val Bytes = 2
  private final val Shorts = 3
  private final val Ints = 4
  private final val Longs = 5
  private final val Floats = 6
  private final val Doubles = 7

  private def kindOf(dataType: DataType): Int = dataType match {
    case BooleanType => Booleans
    case ByteType => Bytes
    case ShortType => Shorts
    case IntegerType | DateType | _: YearMonthIntervalType => Ints
    case FloatType => Floats
    case DoubleType => Doubles
    case other if isLong(other) => Longs
    case _ => Objects
  }

  /** Compares the name, because later lines of Spark have more types that are a long, such as TIME. */
  private def isLong(dataType: DataType): Boolean = dataType match {
    case _: DayTimeIntervalType => true
    case other =>
      Set("bigint", "timestamp", "timestamp_ntz").contains(other.simpleString) ||
      other.simpleString.startsWith("time(")
  }
}
