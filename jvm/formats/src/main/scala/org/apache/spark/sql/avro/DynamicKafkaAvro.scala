package org.apache.spark.sql.avro

import org.apache.avro.Schema
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.DataType

/**
 * Spark's conversion of Avro records to rows, and back. In a package of Spark because the class is private to it; Spark's own Avro
 * functions are in a jar that is not on the class path by default, this class is.
 */
object DynamicKafkaAvro {

  /** The type that `from_avro` gives values of the schema, with its options. */
  def columnType(schema: Schema, options: Map[String, String]): DataType = {
    val parsed = of(options)
    SchemaConverters.toSqlType(
      schema,
      parsed.useStableIdForUnionType,
      parsed.stableIdPrefixForUnionType,
      parsed.recursiveFieldMaxDepth
    ).dataType
  }

  /** @param options those of `from_avro` */
  def deserializer(
      schema: Schema,
      dataType: DataType,
      options: Map[String, String]
  ): Any => Option[Any] = {
    val parsed = of(options)
    val made = new AvroDeserializer(
      schema,
      dataType,
      options.getOrElse("datetimeRebaseMode", SQLConf.get.getConfString(RebaseMode, "CORRECTED")),
      parsed.useStableIdForUnionType,
      parsed.stableIdPrefixForUnionType,
      parsed.recursiveFieldMaxDepth
    )
    made.deserialize
  }

  /** A row as an Avro record, or a value as one of Avro's types, as `to_avro` makes it. */
  def serializer(schema: Schema, dataType: DataType): Any => Any =
    new AvroSerializer(dataType, schema, false).serialize

  private def of(options: Map[String, String]) = new AvroOptions(options, new Configuration(false))

  private val RebaseMode = "spark.sql.avro.datetimeRebaseModeInRead"
}
