package io.github.dynamickafka

import java.{util => ju}

import org.apache.spark.sql.connector.catalog.{SessionConfigSupport, Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.SourceOptionsParser
import io.github.dynamickafka.source.DynamicKafkaTable

/** What `format("dynamic-kafka")` names. Options are checked here, when the DataFrame is made. */
final class DynamicKafkaProvider extends DataSourceRegister with TableProvider with SessionConfigSupport {

  override def shortName(): String = "dynamic-kafka"

  /** Session defaults: `spark.datasource.dynamic-kafka.<option>`. */
  override def keyPrefix(): String = shortName()

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val parsed = SourceOptionsParser.parse(options)
    DynamicKafkaTable.check(parsed)
    DynamicKafkaTable.schema(parsed.includeHeaders)
  }

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: ju.Map[String, String]
  ): Table =
    new DynamicKafkaTable(schema)
}
