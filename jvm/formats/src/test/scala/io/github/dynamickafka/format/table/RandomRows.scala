package io.github.dynamickafka.format.table

import java.math.{BigDecimal => JBigDecimal, BigInteger}

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen

/** Random schemas, and rows of them. */
object RandomRows {

  /** What all formats with fields have. */
  val simple: Seq[DataType] = Seq(
    StringType,
    BooleanType,
    IntegerType,
    LongType,
    FloatType,
    DoubleType,
    DecimalType(10, 2),
    DecimalType(38, 18),
    DateType,
    TimestampType,
    TimestampNTZType
  )

  /** A schema of one to eight columns. */
  def schemas(types: Seq[DataType], depth: Int): Gen[StructType] = for {
    count <- Gen.choose(1, 8)
    columns <- Gen.listOfN(count, dataType(types, depth))
  } yield StructType(columns.zipWithIndex.map { case (t, i) => StructField(s"c$i", t) })

  private def dataType(types: Seq[DataType], depth: Int): Gen[DataType] = {
    val leaf = Gen.oneOf(types)
    if (depth == 0) leaf
    else Gen.frequency(
      5 -> leaf,
      1 -> Gen.lzy(dataType(types, depth - 1)).map(ArrayType(_)),
      1 -> Gen.lzy(dataType(types, depth - 1)).map(MapType(StringType, _)),
      1 -> Gen.lzy(schemas(types, depth - 1))
    )
  }

  def rows(schema: StructType): Gen[InternalRow] =
    Gen.sequence[Seq[Any], Any](schema.map(f => value(f.dataType))).map(InternalRow.fromSeq(_))

  private val text: Gen[String] = Gen.frequency(
    4 -> Gen.alphaNumStr,
    1 -> Gen.const(""),
    2 -> Gen.listOf(
      Gen.oneOf(
        "a",
        " ",
        "\"",
        "\\",
        ",",
        ";",
        "\n",
        "\r",
        "\t",
        "é",
        "€",
        "😀",
        "null",
        "{",
        "'",
        "#",
        "\u0001"
      )
    ).map(_.mkString)
  )

  private def value(dataType: DataType): Gen[Any] =
    Gen.frequency(1 -> Gen.const(null), 6 -> present(dataType))

  private def present(dataType: DataType): Gen[Any] = dataType match {
    case StringType => text.map(UTF8String.fromString)
    case BinaryType => Gen.listOf(Gen.choose(Byte.MinValue, Byte.MaxValue)).map(_.toArray)
    case BooleanType => Gen.oneOf(true, false)
    case ByteType => Gen.choose(Byte.MinValue, Byte.MaxValue)
    case ShortType => Gen.choose(Short.MinValue, Short.MaxValue)
    case IntegerType => Gen.oneOf(Gen.choose(Int.MinValue, Int.MaxValue), Gen.const(0))
    case LongType => Gen.oneOf(Gen.choose(Long.MinValue, Long.MaxValue), Gen.const(Long.MinValue))
    case FloatType => Gen.oneOf(
        Gen.choose(-1e30f, 1e30f),
        Gen.oneOf(0f, -0.0f, Float.NaN, Float.PositiveInfinity, Float.MinValue)
      )
    case DoubleType =>
      Gen.oneOf(
        Gen.choose(-1e300, 1e300),
        Gen.oneOf(0.0, -0.0, Double.NaN, Double.NegativeInfinity, Double.MinPositiveValue)
      )
    case t: DecimalType =>
      Gen.choose(0, t.precision - 1).flatMap(digits =>
        Gen.listOfN(digits, Gen.numChar).map("0" + _.mkString)
      ).flatMap(n =>
        Gen.oneOf("", "-").map(sign =>
          Decimal(new JBigDecimal(new BigInteger(sign + n), t.scale), t.precision, t.scale)
        )
      )
    // Years 1 to 9999.
    case DateType => Gen.choose(-719162, 2932896)
    case TimestampType | TimestampNTZType => Gen.choose(-62135596800000000L, 253402300799999999L)
    case ArrayType(element, _) => few(value(element)).map(values => new GenericArrayData(values.toArray[Any]))
    case MapType(_, of, _) =>
      few(Gen.zip(text, value(of))).map { pairs =>
        val distinct = pairs.distinctBy(_._1)
        ArrayBasedMapData(
          distinct.map(p => UTF8String.fromString(p._1)).toArray[Any],
          distinct.map(_._2).toArray[Any]
        )
      }
    case struct: StructType => rows(struct)
    case other => throw new IllegalArgumentException(s"no values of ${other.sql}")
  }

  private def few[A](of: Gen[A]): Gen[Seq[A]] = Gen.choose(0, 3).flatMap(Gen.listOfN(_, of))
}
