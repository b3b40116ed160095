package io.github.dynamickafka.source

import org.apache.spark.sql.connector.read.{Scan, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.format.{Layout, MetadataColumn}
import io.github.dynamickafka.metadata.KafkaStream

/**
 * Spark tells it which columns a batch read needs, so that only these are decoded; it does not do so for streaming queries. The
 * columns of the format `raw` cost nothing, so they are all read.
 */
private[source] final class DynamicKafkaScanBuilder(
    options: SourceOptions,
    schema: StructType,
    private var layout: Option[Layout],
    answer: () => Option[KafkaStream]
) extends SupportsPushDownRequiredColumns {

  override def pruneColumns(required: StructType): Unit = {
    val names = required.fieldNames.toSeq
    layout = layout.map(_.pruned(names))
  }

  override def build(): Scan = {
    val headers = options.includeHeaders || layout.exists(_.has(MetadataColumn.Headers))
    new DynamicKafkaScan(
      options.copy(includeHeaders = headers),
      layout.fold(schema)(_.schema),
      layout,
      answer
    )
  }
}
