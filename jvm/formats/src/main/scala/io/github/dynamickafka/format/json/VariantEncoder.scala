package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.JSONOptions
import org.apache.spark.sql.internal.SQLConf

import io.github.dynamickafka.format.Encoder
import io.github.dynamickafka.format.SideSource.Fields

/** Encodes the only column, a VARIANT, as the whole record, as Spark's `to_json` does; null is a null value. */
private[json] final class VariantEncoder(side: Fields) extends Encoder {
  WholeVariant.check(side.format, side.schema)

  private val zone =
    new JSONOptions(
      side.format.options,
      SQLConf.get.sessionLocalTimeZone,
      SQLConf.get.columnNameOfCorruptRecord
    ).zoneId

  override def encode(row: InternalRow): Array[Byte] =
    if (row.isNullAt(0)) null else row.getVariant(0).toJson(zone).getBytes(UTF_8)
}
