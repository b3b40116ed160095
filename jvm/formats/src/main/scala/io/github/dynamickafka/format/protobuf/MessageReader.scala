package io.github.dynamickafka.format.protobuf

import java.nio.charset.StandardCharsets.UTF_8
import java.{util => ju}

import scala.util.control.NoStackTrace

import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, GenericArrayData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** A message whose bytes do not fit, or whose fields cannot be the columns. The reason contains only names of the schema. */
private[dynamickafka] final case class MessageMismatch(field: String, reason: String)
    extends RuntimeException(reason)
    with NoStackTrace

/**
 * Reads messages of one type as the fields of a row, by name, as Protobuf's libraries and Spark's `from_protobuf` do.
 *
 * @param wanted the fields to read, which may be fewer than the message has
 * @param strict whether each of them has to be a field of the message; otherwise it is null
 */
private[dynamickafka] final class MessageReader(
    message: ProtoMessage,
    types: ProtoTypes,
    wanted: StructType,
    emitDefaults: Boolean,
    strict: Boolean
) {
  import MessageReader._

  private val names = wanted.fieldNames
  private val fields: Array[Option[Known]] = wanted.fields.map { column =>
    val found = message.fields.find(_.name == column.name)
    if (found.isEmpty && strict)
      throw MessageMismatch(column.name, s"the message '${message.name}' has no field '${column.name}'")
    found.map(known(_, column.dataType))
  }

  /** What to do with the field of a number: also one that is not wanted may be in a oneof with others. */
  private val byNumber: ju.HashMap[Integer, Slot] = {
    val slots = new ju.HashMap[Integer, Slot]
    message.fields.foreach { field =>
      val index = names.indexOf(field.name)
      val others =
        if (field.oneof < 0) Nil else message.fields.filter(f => f.oneof == field.oneof && f != field)
      val clears = others.map(f => names.indexOf(f.name)).filter(_ >= 0).toArray
      if (index >= 0 || clears.nonEmpty) slots.put(field.number, new Slot(index, clears))
    }
    slots
  }

  /** Reads fields up to the end of the message, or to the end of its group. */
  def read(in: ProtoInput, group: Int, into: Array[Any]): Unit = {
    var more = group != 0 || !in.isEnd
    while (more) {
      val tag = in.tag()
      if (group != 0 && ProtoInput.wireOf(tag) == ProtoInput.EndGroup) {
        if (ProtoInput.numberOf(tag) != group) throw ProtoInput.Malformed
        more = false
      } else {
        val slot = byNumber.get(ProtoInput.numberOf(tag))
        if (slot eq null) in.skip(tag)
        else {
          if (slot.index < 0) in.skip(tag) else fields(slot.index).get.read(in, tag, into, slot.index)
          var i = 0
          while (i < slot.clears.length) {
            into(slot.clears(i)) = null
            i += 1
          }
        }
        more = group != 0 || !in.isEnd
      }
    }
  }

  /** Converts the values that were read to those of a row. */
  def made(read: Array[Any]): Array[Any] = {
    var i = 0
    while (i < read.length) {
      read(i) = fields(i) match {
        case Some(field) => field.made(read(i))
        case None => null
      }
      i += 1
    }
    read
  }

  def size: Int = wanted.length

  private def known(field: ProtoField, as: DataType): Known = as match {
    case map: MapType if field.repeated && isEntry(field) => new Entries(field, map)
    case ArrayType(element, _) if field.repeated && !isEntry(field) =>
      new Repeated(field, value(field, element))
    case _ if field.repeated => throw unfit(field, as)
    case _ => new Single(field, value(field, as))
  }

  private def isEntry(field: ProtoField) = types.messages.get(field.typeName).exists(_.isMapEntry)

  private def value(field: ProtoField, as: DataType): FieldValue =
    if (field.kind == FieldKind.Message || field.kind == FieldKind.Group) {
      val inner = types.messages(field.typeName)
      val found = as match {
        case TimestampType if ProtobufColumns.isTimestamp(inner) => Some(time(field, inner))
        case DayTimeIntervalType(_, _) if ProtobufColumns.isDuration(inner) => Some(time(field, inner))
        case struct: StructType if !inner.isMapEntry =>
          Some(new Inner(field, of(inner, struct), new GenericInternalRow(_)))
        case other if ProtobufColumns.isWrapper(inner) =>
          FieldValue.scalar(inner.fields.head, types.enums, other).map { one =>
            val struct = new StructType().add(inner.fields.head.name, other)
            new Inner(field, of(inner, struct), parts => if (parts(0) == null) one.zero else parts(0))
          }
        case _ => None
      }
      found.getOrElse(throw unfit(field, as))
    } else FieldValue.scalar(field, types.enums, as).getOrElse(throw unfit(field, as))

  private def of(inner: ProtoMessage, struct: StructType) =
    new MessageReader(inner, types, struct, emitDefaults, strict)

  private def time(field: ProtoField, inner: ProtoMessage) = {
    val parts = new StructType().add("seconds", LongType).add("nanos", IntegerType)
    new Inner(field, of(inner, parts), micros(field.name, _))
  }

  private def unfit(field: ProtoField, as: DataType) = {
    val kind = if (field.typeName.isEmpty) FieldKind.name(field.kind) else s"'${field.typeName}'"
    val what = if (field.repeated) s"repeated $kind" else kind
    MessageMismatch(
      field.name,
      s"the field '${field.name}' of '${message.name}' is $what, which cannot be ${as.sql}"
    )
  }

  /** A field of the message that is wanted. */
  private sealed abstract class Known(field: ProtoField) {
    def read(in: ProtoInput, tag: Int, into: Array[Any], index: Int): Unit
    def made(read: Any): Any

    protected final def check(found: Int, expected: Int): Unit =
      if (found != expected)
        throw MessageMismatch(field.name, s"the field '${field.name}' has another type than in the schema")
  }

  private final class Single(field: ProtoField, value: FieldValue) extends Known(field) {
    private val absent: Any =
      if (field.default.isDefined || (emitDefaults && !field.hasPresence)) value.zero else null

    override def read(in: ProtoInput, tag: Int, into: Array[Any], index: Int): Unit = {
      check(ProtoInput.wireOf(tag), value.wire)
      val found = value.read(in, into(index))
      if (found != null) into(index) = found
    }

    override def made(read: Any): Any =
      if (read == null) {
        if (field.required)
          throw MessageMismatch(field.name, s"the required field '${field.name}' is missing")
        absent
      } else if (!field.hasPresence && isZero(read, value.zero)) absent
      else value.made(read)
  }

  private final class Repeated(field: ProtoField, value: FieldValue) extends Known(field) {
    override def read(in: ProtoInput, tag: Int, into: Array[Any], index: Int): Unit = {
      if (into(index) == null) into(index) = new ju.ArrayList[Any]
      val all = into(index).asInstanceOf[ju.ArrayList[Any]]
      val wire = ProtoInput.wireOf(tag)
      if (wire == ProtoInput.Bytes && value.wire != ProtoInput.Bytes && value.wire != ProtoInput.StartGroup) {
        val outer = in.enter()
        while (!in.isEnd) add(in, all)
        in.leave(outer)
      } else {
        check(wire, value.wire)
        add(in, all)
      }
    }

    private def add(in: ProtoInput, all: ju.ArrayList[Any]): Unit = {
      val found = value.read(in, null)
      if (found != null) {
        val _ = all.add(found)
      }
    }

    override def made(read: Any): Any =
      if (read == null) new GenericArrayData(Array.empty[Any])
      else {
        val all = read.asInstanceOf[ju.ArrayList[Any]].toArray.asInstanceOf[Array[Any]]
        var i = 0
        while (i < all.length) {
          all(i) = value.made(all(i))
          i += 1
        }
        new GenericArrayData(all)
      }
  }

  private final class Entries(field: ProtoField, as: MapType) extends Known(field) {
    private val entry = types.messages(field.typeName)
    private val key = value(entry.field(1).get, as.keyType)
    private val content = value(entry.field(2).get, as.valueType)

    override def read(in: ProtoInput, tag: Int, into: Array[Any], index: Int): Unit = {
      check(ProtoInput.wireOf(tag), ProtoInput.Bytes)
      if (into(index) == null) into(index) = new ju.LinkedHashMap[Any, Any]
      val outer = in.enter()
      var k: Any = null
      var v: Any = null
      var isKnown = true
      while (!in.isEnd) {
        val part = in.tag()
        ProtoInput.numberOf(part) match {
          case 1 =>
            check(ProtoInput.wireOf(part), key.wire)
            k = key.read(in, k)
          case 2 =>
            check(ProtoInput.wireOf(part), content.wire)
            v = content.read(in, v)
            isKnown = v != null
          case _ => in.skip(part)
        }
      }
      in.leave(outer)
      // The last one counts, as in Protobuf.
      if (isKnown) {
        val _ = into(index).asInstanceOf[ju.LinkedHashMap[Any, Any]].put(if (k == null) key.zero else k, v)
      }
    }

    override def made(read: Any): Any = {
      val all =
        if (read == null) new ju.LinkedHashMap[Any, Any] else read.asInstanceOf[ju.LinkedHashMap[Any, Any]]
      val keys = new Array[Any](all.size)
      val values = new Array[Any](all.size)
      var i = 0
      all.forEach { (k, v) =>
        keys(i) = k
        values(i) = if (v == null) content.zero else content.made(v)
        i += 1
      }
      new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values))
    }
  }

  /** A message inside the message. What is read of it again is merged. */
  private final class Inner(field: ProtoField, reader: => MessageReader, convert: Array[Any] => Any)
      extends FieldValue {
    private lazy val inner = reader
    override val wire: Int = FieldKind.wire(field.kind)

    override def read(in: ProtoInput, old: Any): Any = {
      val parts = if (old == null) new Array[Any](inner.size) else old.asInstanceOf[Array[Any]]
      if (field.isDelimited) inner.read(in, field.number, parts)
      else {
        val outer = in.enter()
        inner.read(in, 0, parts)
        in.leave(outer)
      }
      parts
    }

    override def made(read: Any): Any = convert(inner.made(read.asInstanceOf[Array[Any]]))
    override def zero: Any = made(new Array[Any](inner.size))
  }
}

private object MessageReader {

  /** @param index where the value belongs, or -1; @param clears the values that it replaces, being in a oneof with it */
  private final class Slot(val index: Int, val clears: Array[Int])

  private def micros(name: String, parts: Array[Any]): Any = {
    val seconds = if (parts(0) == null) 0L else parts(0).asInstanceOf[Long]
    val nanos = if (parts(1) == null) 0 else parts(1).asInstanceOf[Int]
    try Math.addExact(Math.multiplyExact(seconds, 1000000L), nanos / 1000L)
    catch {
      case _: ArithmeticException =>
        throw MessageMismatch(name, s"the time in the field '$name' is out of range")
    }
  }

  private def isZero(read: Any, zero: Any): Boolean = read match {
    case bytes: Array[Byte] => bytes.isEmpty
    // Not `==`, because -0.0 is not the default.
    case value => ju.Objects.equals(value, zero)
  }
}

/** Reads the value of a field, and converts it to the value of a row. */
private[protobuf] trait FieldValue {
  def wire: Int

  /**
   * @param old what was read of the same field before, or null
   * @return null if the value counts as a field that is not known
   */
  def read(in: ProtoInput, old: Any): Any

  /** @param read the result of [[read]] */
  def made(read: Any): Any = read

  /** The value of a field that is not in the record. */
  def zero: Any
}

private[protobuf] object FieldValue {
  private final case class Scalar(wire: Int, zero: Any, value: ProtoInput => Any) extends FieldValue {
    override def read(in: ProtoInput, old: Any): Any = value(in)
  }

  /**
   * The reader of any type but messages.
   *
   * @param ofEnum the enum of a field that has one
   * @return None: the field cannot have this type
   */
  def scalar(field: ProtoField, ofEnum: String => ProtoEnum, as: DataType): Option[FieldValue] = {
    import FieldKind._
    val wire = FieldKind.wire(field.kind)
    def of[T](parse: String => T, zero: T)(value: ProtoInput => Any) =
      Some(Scalar(wire, field.default.fold(zero)(parse), value))
    def int(value: ProtoInput => Int) = of(_.toLong.toInt, 0)(value)
    def long(value: ProtoInput => Long) = of(_.toLong, 0L)(value)
    def unsigned[T](made: Long => T)(value: ProtoInput => T) =
      of(text => made(java.lang.Long.parseUnsignedLong(text)), made(0L))(value)
    (field.kind, as) match {
      case (Double, DoubleType) => of(double, 0.0)(in => java.lang.Double.longBitsToDouble(in.fixed64()))
      case (Float, FloatType) => of(double(_).toFloat, 0.0f)(float(_))
      case (Float, DoubleType) => of(double, 0.0)(float(_).toDouble)
      case (Int64, LongType) => long(_.varint())
      case (SInt64, LongType) => long(_.zigZag())
      case (SFixed64, LongType) => long(_.fixed64())
      case (UInt64, LongType) => unsigned[Long](identity)(_.varint())
      case (Fixed64, LongType) => unsigned[Long](identity)(_.fixed64())
      case (UInt64, d: DecimalType) if d.precision == 20 && d.scale == 0 =>
        unsigned(decimal)(in => decimal(in.varint()))
      case (Fixed64, d: DecimalType) if d.precision == 20 && d.scale == 0 =>
        unsigned(decimal)(in => decimal(in.fixed64()))
      case (Int32 | UInt32, IntegerType) => int(_.varint().toInt)
      case (SInt32, IntegerType) => int(_.zigZag32())
      case (SFixed32 | Fixed32, IntegerType) => int(_.fixed32())
      case (Int32, LongType) => long(_.varint().toInt.toLong)
      case (SInt32, LongType) => long(_.zigZag32().toLong)
      case (SFixed32, LongType) => long(_.fixed32().toLong)
      case (UInt32, LongType) => long(_.varint() & 0xffffffffL)
      case (Fixed32, LongType) => long(_.fixed32() & 0xffffffffL)
      case (Bool, BooleanType) => of(_.toBoolean, false)(_.varint() != 0L)
      case (Text, StringType) => of(UTF8String.fromString, UTF8String.EMPTY_UTF8)(text(field))
      case (Bytes, BinaryType) => of(ProtoTokens.unescaped, Array.emptyByteArray)(_.array())
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

  /** The value of an enum. A number without a name is named as by Java's library. */
  private def enumValue(field: ProtoField, declared: ProtoEnum, names: Boolean): FieldValue = {
    val byNumber = declared.values.reverse.map { case (name, number) =>
      number -> (if (names) UTF8String.fromString(name) else number)
    }.toMap[Int, Any]
    val short = declared.name.split('.').last
    val zero =
      field.default.flatMap(name => declared.values.find(_._1 == name)).orElse(declared.values.headOption)
        .fold[Any](null)(v => byNumber(v._2))
    Scalar(
      ProtoInput.Varint,
      zero,
      in => {
        val number = in.varint().toInt
        byNumber.getOrElse(
          number,
          if (declared.isClosed) null
          else if (names) UTF8String.fromString(s"UNKNOWN_ENUM_VALUE_${short}_$number")
          else number
        )
      }
    )
  }
}
