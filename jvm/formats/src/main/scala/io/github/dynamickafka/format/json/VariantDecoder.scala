package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using
import scala.util.control.NonFatal

import com.fasterxml.jackson.core.JsonProcessingException
import org.apache.spark.sql.catalyst.json.JSONOptions
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.types.variant.VariantBuilder
import org.apache.spark.unsafe.types.VariantVal

import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, SideLayout}

/**
 * Decodes each record as a whole into the only column, a VARIANT, with the results of Spark's `parse_json`. Options of the parser that
 * are set apply as in `from_json`.
 */
private[json] final class VariantDecoder(side: SideLayout) extends Decoder {
  import VariantDecoder._
  WholeVariant.check(side.format, side.schema)

  private val options = new JSONOptions(
    Strict ++ side.format.options,
    SQLConf.get.sessionLocalTimeZone,
    SQLConf.get.columnNameOfCorruptRecord
  )
  private val factory = options.buildJsonFactory()
  private val allowsDuplicates = SQLConf.get.getConf(SQLConf.VARIANT_ALLOW_DUPLICATE_KEYS)

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      // As a text, in which bytes that are not UTF-8 are replaced.
      val parsed = Using.resource(factory.createParser(new String(bytes, UTF_8))) { parser =>
        parser.nextToken()
        VariantBuilder.parseJson(parser, allowsDuplicates)
      }
      into.setObject(0, new VariantVal(parsed.getValue, parsed.getMetadata))
      null
    } catch {
      case _: JsonProcessingException => NotJson
      case NonFatal(_) => NoVariant
    }
  }
}

private object VariantDecoder {

  /** What JSON has, and `parse_json` accepts; Spark's defaults for records accept more. */
  private val Strict = Map("allowSingleQuotes" -> "false", "allowNonNumericNumbers" -> "false")
  private val NotJson = DecodeFailure("it is not valid JSON", None, unparsable = true)
  private val NoVariant =
    DecodeFailure("it has a name twice, or is larger than a VARIANT can be", None, unparsable = true)
}
