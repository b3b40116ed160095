package io.github.dynamickafka.format.table

import java.{lang => jl}

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.{DecodedValues, Decoder, SideLayout}

/**
 * What a decoder made of a record, as text that is different where `==` is not: NaN, -0.0, arrays.
 *
 * @param bad whether the record is a bad one
 */
final case class Decoded(columns: Seq[String], bad: Boolean)

object Decoded {

  /** The values' side of a table. */
  def side(ddl: String, options: (String, String)*): SideLayout =
    ParsedFormats.read(options :+ ("schema" -> ddl): _*).layout(None, includeHeaders = false).value

  /** Runs a decoder, which may have decoded other records before. */
  def by(decoder: Decoder, side: SideLayout): Array[Byte] => Decoded = {
    val into = new DecodedValues(side.types)
    val converters = side.types.map(CatalystTypeConverters.createToScalaConverter)
    bytes => {
      val failure = decoder.decode(bytes, into)
      Decoded(side.wanted.map(i => text(converters(i)(into.get(i)))), failure != null)
    }
  }

  /** What Spark's function made of it; the last column has the text of a bad record. A blank text is no row. */
  def of(row: Row, schema: StructType): Decoded =
    if (row == null) Decoded(schema.map(_ => "null"), bad = false)
    else Decoded(schema.indices.map(i => text(row.get(i))), !row.isNullAt(schema.length))

  def text(value: Any): String = value match {
    case null => "null"
    case v: Double => s"${jl.Double.doubleToLongBits(v).toHexString}d($v)"
    case v: Float => s"${jl.Float.floatToIntBits(v).toHexString}f($v)"
    case v: Array[Byte] => v.map("%02x".format(_)).mkString("0x", "", "")
    case v: Row => v.toSeq.map(text).mkString("{", ",", "}")
    case v: scala.collection.Map[_, _] => v.map { case (k, x) =>
        s"${text(k)}->${text(x)}"
      }.toSeq.sorted.mkString("<", ",", ">")
    case v: scala.collection.Seq[_] => v.map(text).mkString("[", ",", "]")
    case v: String =>
      v.map(c => if (c < 128) c.toString else s"\\u${c.toInt.toHexString}").mkString("'", "", "'")
    case v => s"${v.getClass.getSimpleName}($v)"
  }
}
