package io.github.dynamickafka.source

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.DeclaredSchema
import io.github.dynamickafka.format.options.FormatOptionSpecs
import io.github.dynamickafka.format.registry.NewestSchemas
import io.github.dynamickafka.metadata.watch.StreamSubjects

/** `schema=registry`: the columns are those of the newest schema of the subject, when a table is made. */
private[source] object RegistrySchemas {

  def withSchema(options: SourceOptions, declared: Option[DeclaredSchema]): SourceOptions =
    declared.fold(options)(schema =>
      options.copy(format = options.format.copy(schema = Some(schema), schemaFromRegistry = false))
    )

  /**
   * The schema at the registry of the first cluster, in the order of the metadata. Those of all others have to be readable with
   * it.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA
   */
  def newest(options: SourceOptions, user: Option[StructType]): DeclaredSchema = {
    if (user.isDefined)
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        "registry",
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    NewestSchemas.common(
      options.format.value,
      StreamSubjects.of(
        options.clusterRegistries.ofValues(options.format, _),
        options.service,
        options.subscription,
        options.discovery,
        SparkSession.active.sparkContext.hadoopConfiguration
      )
    )
  }
}
