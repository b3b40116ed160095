package io.github.dynamickafka.format.table

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.FormatOptions
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.schemaregistry.{Registries, RegistryOptionSpecs}

/**
 * Which registries of clusters the metadata gives. `cluster.<id>.registry.*` takes precedence over them, and they take precedence over
 * the settings of a table.
 *
 * @param counts whether the metadata has any effect
 * @param stated names of options of one query of a table, which take precedence over the metadata
 */
private[dynamickafka] final case class ClusterRegistries(
    counts: Boolean = false,
    stated: Set[String] = Set.empty
) {
  private lazy val kept =
    RegistryOptionSpecs.all.filter(spec =>
      stated.exists(name => spec.named(name) || isOfFormat(name, spec.key))
    )
      .map(_.key).toSet

  /** Flink's names: `avro-confluent.url`. */
  private def isOfFormat(name: String, key: String) =
    Formats.registered.all.exists(format =>
      format.hasRegistry && OptionName.normalize(name)
        .endsWith(OptionName.normalize(s"${format.name}.${key.drop(RegistryOptionSpecs.Prefix.length)}"))
    )

  /**
   * The options of the registry of a cluster.
   *
   * @param metadata what the metadata says about it
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException METADATA_INVALID
   */
  def of(metadata: Map[String, String]): Map[String, String] =
    if (!counts) Map.empty
    else {
      val found = metadata.flatMap { case (name, value) =>
        val spec = RegistryOptionSpecs.all.find(_.named(name)).getOrElse(throw Errors.metadataInvalid(
          "key 'registry'",
          s"'$name' is not an option of a registry"
        ))
        val _ = spec.parse(value, name)
        Option.unless(kept(spec.key))(spec.key -> value.trim)
      }
      Registries(found).check("", required = false)
      found
    }

  /** The registries of the values on a cluster. */
  def ofValues(format: FormatOptions, metadata: Map[String, String]): Registries =
    format.value.registries.in(of(metadata))
}
