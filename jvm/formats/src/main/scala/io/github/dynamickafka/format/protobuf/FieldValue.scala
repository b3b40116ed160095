package io.github.dynamickafka.format.protobuf

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.types.{
  BinaryType,
  BooleanType,
  DataType,
  Decimal,
  DecimalType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  StringType
}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.protobuf.{EscapedBytes, FieldKind, ProtoEnum, ProtoField, ProtoInput}

/** Reads the value of a field, and converts it to the value of a row. */
private[protobuf] trait FieldValue {

  /** See [[ProtoInput]]. */
  def wire: Int

  /**
   * @param old what was read of the same field before, or null
   * @return null if the value counts as a field that is not known
   */
  def read(in: ProtoInput, old: Any): Any

  /** @param read the result of [[read]] */
  def made(read: Any): Any = read

  /** Of a field that is not in the record. */
  def zero: Any
}

private[protobuf] object FieldValue {
  private final case class Scalar(wire: Int, zero: Any, of: ProtoInput => Any) extends FieldValue {
    override def read(in: ProtoInput, old: Any): Any = of(in)
  }

  /**
   * Of all types but messages.
   *
   * @param ofEnum the enum of a field that has one
   * @return None: the field cannot have this type
   */
  def scalar(field: ProtoField, ofEnum: String => ProtoEnum, as: DataType): Option[FieldValue] = {
    import FieldKind._
    def default[T](parse: String => T, zero: T): T = field.default.fold(zero)(parse)
    def int(text: String) = text.toLong.toInt
    def unsigned(text: String) = java.lang.Long.parseUnsignedLong(text)
    (field.kind, as) match {
      case (Double, DoubleType) =>
        Some(Scalar(
          ProtoInput.Fixed64,
          default(double, 0.0),
          in => java.lang.Double.longBitsToDouble(in.fixed64())
        ))
      case (Float, FloatType) =>
        Some(Scalar(ProtoInput.Fixed32, default(double, 0.0).toFloat, in => float(in)))
      case (Float, DoubleType) =>
        Some(Scalar(ProtoInput.Fixed32, default(double, 0.0), in => float(in).toDouble))
      case (Int64, LongType) => Some(Scalar(ProtoInput.Varint, default(_.toLong, 0L), _.varint()))
      case (SInt64, LongType) => Some(Scalar(ProtoInput.Varint, default(_.toLong, 0L), _.zigZag()))
      case (SFixed64, LongType) => Some(Scalar(ProtoInput.Fixed64, default(_.toLong, 0L), _.fixed64()))
      case (UInt64, LongType) => Some(Scalar(ProtoInput.Varint, default(unsigned, 0L), _.varint()))
      case (Fixed64, LongType) => Some(Scalar(ProtoInput.Fixed64, default(unsigned, 0L), _.fixed64()))
      case (UInt64, d: DecimalType) if d.precision == 20 && d.scale == 0 =>
        Some(Scalar(ProtoInput.Varint, decimal(default(unsigned, 0L)), in => decimal(in.varint())))
      case (Fixed64, d: DecimalType) if d.precision == 20 && d.scale == 0 =>
        Some(Scalar(ProtoInput.Fixed64, decimal(default(unsigned, 0L)), in => decimal(in.fixed64())))
      case (Int32, IntegerType) => Some(Scalar(ProtoInput.Varint, default(int, 0), _.varint().toInt))
      case (SInt32, IntegerType) => Some(Scalar(ProtoInput.Varint, default(int, 0), _.zigZag32()))
      case (SFixed32, IntegerType) => Some(Scalar(ProtoInput.Fixed32, default(int, 0), _.fixed32()))
      case (UInt32, IntegerType) => Some(Scalar(ProtoInput.Varint, default(int, 0), _.varint().toInt))
      case (Fixed32, IntegerType) => Some(Scalar(ProtoInput.Fixed32, default(int, 0), _.fixed32()))
      case (Int32, LongType) =>
        Some(Scalar(ProtoInput.Varint, default(_.toLong, 0L), _.varint().toInt.toLong))
      case (SInt32, LongType) => Some(Scalar(ProtoInput.Varint, default(_.toLong, 0L), _.zigZag32().toLong))
      case (SFixed32, LongType) => Some(Scalar(ProtoInput.Fixed32, default(_.toLong, 0L), _.fixed32().toLong))
      case (UInt32, LongType) =>
        Some(Scalar(ProtoInput.Varint, default(_.toLong, 0L), _.varint() & 0xffffffffL))
      case (Fixed32, LongType) =>
        Some(Scalar(ProtoInput.Fixed32, default(_.toLong, 0L), _.fixed32() & 0xffffffffL))
      case (Bool, BooleanType) =>
        Some(Scalar(ProtoInput.Varint, default(_.toBoolean, false), _.varint() != 0L))
      case (Text, StringType) =>
        Some(Scalar(ProtoInput.Bytes, UTF8String.fromString(default(identity, "")), text(field)))
      case (Bytes, BinaryType) =>
        Some(Scalar(
          ProtoInput.Bytes,
          default(EscapedBytes.of, Array.emptyByteArray),
          _.array()
        ))
      case (Enum, StringType) => Some(enumValue(field, ofEnum(field.typeName), names = true))
      case (Enum, IntegerType) => Some(enumValue(field, ofEnum(field.typeName), names = false))
      case _ => None
    }
  }

  private def float(in: ProtoInput) = java.lang.Float.intBitsToFloat(in.fixed32())

  private def double(text: String): Double = text match {
    case "inf" => scala.Double.PositiveInfinity
    case "-inf" => scala.Double.NegativeInfinity
    case "nan" => scala.Double.NaN
    case number => number.toDouble
  }

  private def decimal(unsigned: Long): Decimal =
    Decimal(BigDecimal(java.lang.Long.toUnsignedString(unsigned)), 20, 0)

  /** In syntax 2 nothing says that texts are UTF-8: what is not is replaced, as Java's library does. */
  private def text(field: ProtoField): ProtoInput => Any = in => {
    val bytes = in.array()
    val found = UTF8String.fromBytes(bytes)
    if (found.isValid) found
    else if (field.requiresUtf8) throw ProtoInput.Malformed
    else UTF8String.fromString(new String(bytes, UTF_8))
  }

  /** As Java's library names a number that has no name. */
  private def enumValue(field: ProtoField, of: ProtoEnum, names: Boolean): FieldValue = {
    val byNumber = of.values.reverse.map { case (name, number) =>
      number -> (if (names) UTF8String.fromString(name) else number)
    }.toMap[Int, Any]
    val short = of.name.split('.').last
    val zero = field.default.flatMap(name => of.values.find(_._1 == name)).orElse(of.values.headOption)
      .fold[Any](null)(v => byNumber(v._2))
    Scalar(
      ProtoInput.Varint,
      zero,
      in => {
        val number = in.varint().toInt
        byNumber.getOrElse(
          number,
          if (of.isClosed) null
          else if (names) UTF8String.fromString(s"UNKNOWN_ENUM_VALUE_${short}_$number")
          else number
        )
      }
    )
  }
}
