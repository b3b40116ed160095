package io.github.dynamickafka.sink

import org.apache.spark.sql.SparkSession

import io.github.dynamickafka.config.{SinkOptionSpecs, SinkOptions, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.DeclaredSchema
import io.github.dynamickafka.format.registry.NewestSchemas
import io.github.dynamickafka.metadata.watch.StreamSubjects

/** `schema=registry`: the columns are cast to those of the newest schema of the subject, when a query or job starts. */
private[sink] object TargetSchemas {

  /** Asks the metadata service and the registry of the first cluster, in the order of the metadata. */
  def withSchema(options: SinkOptions): SinkOptions =
    if (!options.format.schemaFromRegistry) options
    else
      options.copy(format = options.format.copy(schema = Some(ofStream(options)), schemaFromRegistry = false))

  private def ofStream(options: SinkOptions): DeclaredSchema = {
    val stream = options.streamId.getOrElse(throw Errors.missingOption(
      SinkOptionSpecs.StreamId.name,
      "set it to the stream whose schema is meant, because 'schema' is 'registry'."
    ))
    NewestSchemas.first(
      options.format.value.format,
      StreamSubjects.of(
        options.clusterRegistries.ofValues(options.format, _),
        options.service,
        Subscription.Ids(Seq(stream)),
        options.discovery,
        SparkSession.active.sparkContext.hadoopConfiguration
      )
    )
  }
}
