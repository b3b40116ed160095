package io.github.dynamickafka.sink

import org.apache.spark.sql.SparkSession

import io.github.dynamickafka.config.{SinkOptionSpecs, SinkOptions, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.options.WriteOptionsParser
import io.github.dynamickafka.format.registry.NewestSchemas
import io.github.dynamickafka.format.{DeclaredSchema, FormatOptions}
import io.github.dynamickafka.metadata.subject.StreamSubjects
import io.github.dynamickafka.schemaregistry.Subject
import io.github.dynamickafka.topology.WriteEntry

/** `schema=registry`: the columns are cast to those of the newest schema of the subject, when a query or job starts. */
private[sink] object TargetSchemas {

  /** Asks the metadata service and the registry of the first cluster, in the order of the metadata. */
  def withSchema(options: SinkOptions): SinkOptions =
    if (!options.format.schemaFromRegistry) options
    else options.copy(format = resolved(options.format, ofStream(options)))

  /** The schema of a cluster that has `schema=registry` while the stream has not. */
  def ofCluster(format: FormatOptions, entry: WriteEntry): FormatOptions = {
    val registry = format.value.registries.of(entry.cluster)
    val names = registry.subject.toSeq ++ entry.topics.keys.map(topic => s"$topic-value")
    resolved(format, NewestSchemas.first(format.value.format, names.map(Subject(registry, _))))
  }

  def resolved(format: FormatOptions, schema: DeclaredSchema): FormatOptions =
    format.copy(schema = Some(schema), schemaFromRegistry = false)

  private def ofStream(options: SinkOptions): DeclaredSchema = {
    val stream = options.streamId.getOrElse(throw Errors.missingOption(
      SinkOptionSpecs.StreamId.name,
      "set it to the stream whose schema is meant, because 'schema' is 'registry'."
    ))
    val subjects = new StreamSubjects(
      options.clusters,
      options.clusterFormats.of(_, _, WriteOptionsParser.parse(_)).getOrElse(options.format)
    )
    val format = options.format.value.format
    NewestSchemas.first(
      format,
      subjects.of(
        format,
        options.service,
        Subscription.Ids(Seq(stream)),
        options.discovery,
        SparkSession.active.sparkContext.hadoopConfiguration
      )
    )
  }
}
