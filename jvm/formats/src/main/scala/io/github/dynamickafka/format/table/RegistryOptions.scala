package io.github.dynamickafka.format.table

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Format, SideFormat}
import io.github.dynamickafka.option.{FormatKey, OptionName, OptionSpec, RawOptions}
import io.github.dynamickafka.schemaregistry.{Registries, RegistryOptionSpecs}

/** Parses the options `registry.*`, and `<format>.*` that mean the same. Pure. */
private[format] object RegistryOptions {

  /**
   * The option of a registry that the option of a format means.
   *
   * @param specs those of the source or of the sink
   */
  def find(
      format: Format,
      option: String,
      specs: Seq[OptionSpec[_]] = RegistryOptionSpecs.reading
  ): Option[OptionSpec[_]] =
    if (format.hasRegistry) RegistryOptionSpecs.withoutPrefix(option, specs) else None

  /** The value of an option of a format for error messages. */
  def shown(key: FormatKey, w: RawOptions.Written): String =
    if (RegistryOptionSpecs.withoutPrefix(key.option).isDefined || ofClass(key)) Redaction.Redacted
    else w.value

  /** It is not known which properties of a class of the user are secrets. */
  private def ofClass(key: FormatKey) =
    (FormatOptionSpecs.classes ++ WriteOptionSpecs.classes).exists(_.name == key.format)

  /**
   * @param ofFormat the options of the format that [[find]] finds; those of one side come last
   * @param required whether some cluster has to have a registry
   */
  def of(
      raw: RawOptions,
      format: Format,
      ofFormat: Seq[(FormatKey, RawOptions.Written)],
      required: Boolean
  ): Registries =
    if (!format.hasRegistry) Registries()
    else {
      val shared = RegistryOptionSpecs.all.flatMap(spec => raw.written(spec).map(spec -> _))
      val own = ofFormat.map { case (key, w) =>
        (key, find(format, key.option, RegistryOptionSpecs.all).get, w)
      }
      for ((spec, w) <- shared; (key, other, again) <- own)
        if (other == spec && key.side.isEmpty && again.value != w.value)
          throw Errors.invalidOption(
            again.name,
            spec.shown(again.value),
            s"the same option is also set as '${w.name}', to '${spec.shown(w.value)}'."
          )
      val all = shared ++ own.map { case (_, spec, w) => spec -> w }
      all.foreach { case (spec, w) => spec.parse(w.value, w.name) }
      val registries =
        Registries(all.map { case (spec, w) => spec.key -> w.value.trim }.toMap, perCluster(raw))
      registries.check(format.name, required)
      registries
    }

  private def perCluster(raw: RawOptions): Map[String, String] =
    raw.cluster.filter { case (key, _) =>
      OptionName.normalize(key).contains(s".${RegistryOptionSpecs.Prefix}")
    }

  /** An option without a format that has a registry is refused. */
  def checkUse(raw: RawOptions, formats: Seq[Format]): Unit =
    if (!formats.exists(_.hasRegistry)) {
      val written = RegistryOptionSpecs.all.flatMap(raw.written).map(_.name) ++
        perCluster(raw).keys.toSeq.sorted.map(OptionName.Cluster + _)
      written.headOption.foreach(name =>
        throw Errors.invalidOption(
          name,
          Redaction.Redacted,
          s"it has no effect: a format with a registry is one of ${Formats.registered.names(_.hasRegistry)}."
        )
      )
    }

  /**
   * Keys and values have different schemas.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if they would have one subject
   */
  def checkSubjects(value: SideFormat, key: SideFormat): Unit = {
    def subject(side: SideFormat) = side.registries.shared.get(RegistryOptionSpecs.Subject.key)
    for (ofValue <- subject(value); ofKey <- subject(key) if ofValue == ofKey)
      throw Errors.invalidOption(
        RegistryOptionSpecs.Subject.name,
        ofValue,
        "keys and values would have the same subject. Set " +
          s"'${FormatKey.Value}.${value.format.name}.subject' and '${FormatKey.Key}.${key.format.name}.subject'."
      )
  }

  /**
   * Whether the columns are those of the newest schema in the registry.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if keys have columns of their own
   */
  def givesSchema(raw: RawOptions, value: Format): Boolean =
    raw.find(FormatOptionSpecs.Schema).exists(_.trim.equalsIgnoreCase("registry")) && value.hasRegistry && {
      if (raw.get(FormatOptionSpecs.ValueFieldsInclude))
        throw Errors.invalidOption(
          FormatOptionSpecs.Schema.name,
          "registry",
          s"the schema of the values does not have the columns of the keys: with '${FormatOptionSpecs.ValueFieldsInclude.name}' " +
            "'EXCEPT_KEY', name the columns."
        )
      true
    }
}

/**
 * The registries of clusters that the metadata gives. `cluster.<id>.registry.*` takes precedence over them, and they take precedence over
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
  def ofValues(format: FormatTable, metadata: Map[String, String]): Registries =
    format.value.registries.in(of(metadata))
}
