package org.apache.spark.sql.avro

import org.apache.spark.sql.catalyst.expressions.Expression

/** Spark's `from_avro` and `to_avro`, whose classes are private to its package. */
object DynamicKafkaAvroFunctions {
  def fromAvro(child: Expression, schema: String, options: Map[String, String]): Expression =
    AvroDataToCatalyst(child, schema, options)

  /** @param schema None: that of the type */
  def toAvro(child: Expression, schema: Option[String]): Expression = CatalystDataToAvro(child, schema)
}
