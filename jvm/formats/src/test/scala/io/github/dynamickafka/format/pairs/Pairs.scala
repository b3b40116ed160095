package io.github.dynamickafka.format.pairs

import java.nio.charset.StandardCharsets.UTF_8
import java.util.regex.Pattern

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, LongType, StringType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format._

/** Names and values: `id=1;name=tea`. Columns are BIGINT or STRING. */
private[dynamickafka] object Pairs extends Format("pairs") {
  private val separator = FormatSetting("separator", FormatSetting.anything)

  override val settings: Seq[FormatSetting] = Seq(FormatSetting.IgnoreParseErrors, separator)
  override def decoder(side: SideLayout): Decoder = new PairsDecoder(side)
  override def writer: Option[FormatWriter] = Some(Writer)

  private object Writer extends FormatWriter {
    override val settings: Seq[FormatSetting] = Seq(separator)
    override def encoder(side: SideLayout): Encoder = new PairsEncoder(side)
  }

  def separatorOf(format: SideFormat): String = format.options.getOrElse(separator.name, ";")

  /** What a text becomes in a column of the type, as Spark has it in memory. */
  def reader(dataType: DataType): String => Any = dataType match {
    case LongType => _.toLong
    case StringType => UTF8String.fromString
    case other => throw new IllegalArgumentException(s"Pairs have no ${other.sql}.")
  }
}

private final class PairsDecoder(side: SideLayout) extends Decoder {
  private val separator = Pattern.quote(Pairs.separatorOf(side.format))
  private val readers = side.types.map(Pairs.reader)

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    val values = new String(bytes, UTF_8).split(separator, -1).map(_.split("=", 2)).collect {
      case Array(name, value) => name -> value
    }.toMap
    side.wanted.foldLeft[DecodeFailure](null) { (failure, i) =>
      val name = side.schema(i).name
      try {
        values.get(name).foreach(value => into.setAny(i, readers(i)(value)))
        failure
      } catch {
        case NonFatal(_) => DecodeFailure("it is not a number", Some(name), unparsable = false)
      }
    }
  }
}

private final class PairsEncoder(side: SideLayout) extends Encoder {
  private val separator = Pairs.separatorOf(side.format)
  side.schema.foreach(field => Pairs.reader(field.dataType))

  override def encode(row: InternalRow): Array[Byte] =
    side.schema.zipWithIndex.collect {
      case (field, i) if !row.isNullAt(i) => s"${field.name}=${row.get(i, field.dataType)}"
    }.mkString(separator).getBytes(UTF_8)
}
