package io.github.dynamickafka.format.table

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format._
import io.github.dynamickafka.option.{FormatKey, OptionName, OptionSpec, OptionType, RawOptions, Suggestions}
import io.github.dynamickafka.schemaregistry.{Registries, RegistryOptionSpecs}

/** Parses the options about formats, or throws an error for the first that is invalid or has no effect. Pure. */
private[dynamickafka] object FormatOptionsParser {
  import FormatOptionSpecs._

  /**
   * Parses the options of a query that reads.
   *
   * @param isCatalogTable whether the metadata of clusters may have registries too
   * @param formats those that the options can name
   */
  def reading(
      raw: RawOptions,
      isCatalogTable: Boolean = false,
      formats: Formats = Formats.registered
  ): FormatTable = new FormatOptionsParser(
    raw,
    isCatalogTable,
    format(raw, ValueDeserializer, ValueFormat, formats.valuesToRead).getOrElse(Formats.default),
    format(raw, KeyDeserializer, KeyFormat, formats.toRead)
  ).reading

  /** Parses the options of a query that writes; see [[reading]]. */
  def writing(
      raw: RawOptions,
      isCatalogTable: Boolean = false,
      formats: Formats = Formats.registered
  ): FormatTable = {
    import WriteOptionSpecs.{KeyFormat, KeySerializer, ValueFormat, ValueSerializer}
    new FormatOptionsParser(
      raw,
      isCatalogTable,
      format(raw, ValueSerializer, ValueFormat, formats.valuesToWrite).getOrElse(Formats.default),
      format(raw, KeySerializer, KeyFormat, formats.toWrite)
    ).writing
  }

  /** Checks one option of a format, whether the format is in use or not. */
  def check(key: FormatKey, w: RawOptions.Written, writes: Boolean): Unit =
    // A class of the user has options that are not known.
    for (format <- Formats.registered.all.find(_.name == key.format)) {
      val settings: FormatSettings = if (writes) format.writer.get else format
      val registry = if (writes) RegistryOptionSpecs.all else RegistryOptionSpecs.reading
      def refused(option: String) =
        if (writes) FormatSetting.refusedInWrites(format, option) else FormatSetting.refused(format, option)
      val ofRegistry =
        if (format.hasRegistry) RegistryOptionSpecs.withoutPrefix(key.option, registry) else None
      val _ = ofRegistry.fold[Any](setting(settings, refused, key, w))(_.parse(w.value, w.name))
    }

  /** The setting that an option means, with its value checked. */
  private def setting(
      settings: FormatSettings,
      refused: String => Option[String],
      key: FormatKey,
      w: RawOptions.Written
  ): FormatSetting = {
    val found = settings.setting(key.option).getOrElse {
      refused(key.option).foreach(reason => throw w.invalid(reason))
      val prefix = w.name.dropRight(key.option.length)
      throw Errors.unknownOption(
        w.name,
        Suggestions.closest(key.option, settings.settings.map(_.name)).map(prefix + _)
      )
    }
    found.valueType.parse(w.value.trim).left.foreach(reason => throw w.invalid(reason))
    found
  }

  /** The format by a class of Kafka's interfaces, or by its name; None: neither option is set. */
  private def format(
      raw: RawOptions,
      byClass: OptionSpec[Format],
      named: OptionSpec[Format],
      names: OptionType[Format]
  ): Option[Format] = raw.written(byClass).fold(raw.find(named.copy(valueType = names))) { w =>
    raw.written(named).foreach(format =>
      throw w.invalid(s"'${format.name}' is also set, but only one of the two options is allowed.")
    )
    Some(byClass.parse(w.value, w.name))
  }

  /** Options of formats that the connector handles itself. */
  private val ofConnector = Seq(FormatSetting.IgnoreParseErrors, FormatSetting.FailOnMissingField).map(_.name)
}

private final class FormatOptionsParser(
    raw: RawOptions,
    isCatalogTable: Boolean,
    value: Format,
    key: Option[Format]
) {
  import FormatOptionSpecs._

  private val formats = value +: key.toSeq

  def reading: FormatTable = {
    val common = parse { (of, side) =>
      val required = of.registry.exists(_.isRequired) || fromRegistry
      val set = ofFormat(side, of, required, RegistryOptionSpecs.reading, of, FormatSetting.refused)
      readBy(set, if (side == FormatKey.Key) OnKeyParseErrors else OnValueParseErrors)
    }
    checkUse()
    common.copy(
      metadata = common.metadata.copy(columns = metadata),
      deadLetters = deadLetterTopic(common.sides).map(DeadLetterOptions(_, raw.find(DeadLetterCluster)))
    )
  }

  def writing: FormatTable = {
    val common = parse { (of, side) =>
      val writer = of.writer.get
      val set =
        ofFormat(side, of, of.hasRegistry, RegistryOptionSpecs.all, writer, FormatSetting.refusedInWrites)
      set.copy(options = writer.forEncoder(set.options))
    }
    common.key.foreach(key => checkSubjects(common.value, key.side))
    common
  }

  /** @param sideOf the format with the options of `key` or `value` */
  private def parse(sideOf: (Format, String) => SideFormat): FormatTable = {
    val fields = keyFields
    if (!isCatalogTable) checkRegistries()
    val ofValue = sideOf(value, FormatKey.Value)
    val ofKey = key.map(sideOf(_, FormatKey.Key))
    checkFormats()
    // The options of the values, or, if these are not Avro, those of the keys.
    val avro =
      (ofValue +: ofKey.toSeq).find(_.format.readsAvroSchema).fold(Map.empty[String, String])(_.options)
    val prefix = this.prefix(fields)
    FormatTable(
      ofValue,
      ofKey.map(KeyOptions(_, fields, prefix, raw.get(ValueFieldsInclude))),
      if (fromRegistry) None
      else
        schema(avro).orElse(value.fixedSchema.map(columns => DeclaredSchema(columns.toNullable))),
      fromRegistry,
      MetadataSelection(prefix = raw.find(MetadataPrefix).getOrElse("")),
      changes(fields)
    )
  }

  private def changes(keyFields: Seq[String]): ChangeMode = {
    val mode = raw.get(ChangeData)
    if (mode == ChangeMode.Upsert) checkUpsert(keyFields)
    mode
  }

  private def checkUpsert(keyFields: Seq[String]): Unit = {
    def missing(name: String, what: String) =
      throw Errors.missingOption(name, s"set it to the $what, because '${ChangeData.name}' is 'upsert'.")
    if (value.isChange) refuse(ChangeData, "upsert", s"the format '${value.name}' has changes of its own.")
    if (key.isEmpty) missing(KeyFormat.name, "format of the keys")
    if (keyFields.isEmpty) missing(KeyFields.name, "columns that keys contain")
  }

  private def deadLetterTopic(sides: Seq[SideFormat]): Option[String] =
    Option.when(sides.exists(_.parseErrors == ParseErrors.DeadLetter))(raw.require(
      DeadLetterTopic,
      s"set it to the topic for records that cannot be decoded, because '${OnParseErrors.name}' is 'dead-letter'."
    ))

  private def metadata: Option[Seq[MetadataItem]] = {
    val items = raw.find(MetadataColumns)
    items.toSeq.flatten.foreach {
      case MetadataItem.OfFormat(key, _) if FormatMetadata.find(value, key).isEmpty =>
        val known = value.metadata.map(m => s"'value.${m.key}'").mkString(", ")
        refuse(
          MetadataColumns,
          raw.written(MetadataColumns).fold("")(_.value),
          s"the format '${value.name}' has no metadata 'value.$key'" +
            (if (known.isEmpty) "." else s"; it has $known.")
        )
      case _ =>
    }
    items
  }

  private def keyFields: Seq[String] = {
    val fields = raw.find(KeyFields)
    def refuseFields(reason: String) = refuse(KeyFields, fields.get.mkString(","), reason)
    key match {
      case Some(format) if format.isChange => refuse(KeyFormat, format.name, "keys have no changes.")
      case None if fields.isDefined => refuseFields(s"'${KeyFormat.name}' is not set.")
      case Some(format) if fields.isEmpty && format.hasFields =>
        throw Errors.missingOption(
          KeyFields.name,
          s"set it to the columns of '${Schema.name}' that keys contain, because '${KeyFormat.name}' is '${format.name}'."
        )
      case Some(format) if fields.exists(_.size != 1) && !format.hasFields =>
        refuseFields(s"'${KeyFormat.name}' is '${format.name}', which gives one column.")
      case _ => fields.getOrElse(Nil)
    }
  }

  private def prefix(fields: Seq[String]): String = {
    if (fields.isEmpty)
      raw.written(ValueFieldsInclude).foreach(w =>
        refuse(ValueFieldsInclude, w.value, s"it has no effect without '${KeyFields.name}'.")
      )
    val prefix = raw.find(KeyFieldsPrefix)
    def refusePrefix(reason: String) = refuse(KeyFieldsPrefix, prefix.get, reason)
    if (prefix.isDefined && !raw.get(ValueFieldsInclude))
      refusePrefix(s"it requires '${ValueFieldsInclude.name}=EXCEPT_KEY'.")
    fields.find(name => prefix.exists(!name.startsWith(_))).foreach(name =>
      refusePrefix(s"the column '$name' of '${KeyFields.name}' does not begin with it.")
    )
    prefix.getOrElse("")
  }

  private def schema(avroOptions: Map[String, String]): Option[DeclaredSchema] =
    raw.find(Schema).map { text =>
      def refuseFor(reason: String) = refuse(Schema, text, s"the format '${value.name}' $reason")
      if (!formats.exists(_.hasFields))
        refuseFor(
          s"has fixed columns. Set '${ValueFormat.name}' to one of ${Formats.registered.names(_.hasFields)}."
        )
      if (value.fixedSchema.isDefined) refuseFor("determines the columns itself.")
      if (isRegistry(text)) refuseFor("has no registry.")
      SchemaText.parse(text, avroOptions, columns => formats.flatMap(_.avroSchema(columns)).headOption).fold(
        reason => throw Errors.invalidSchema(s"option '${Schema.name}': $reason"),
        identity
      )
    }

  private def isRegistry(schema: String) = schema.trim.equalsIgnoreCase("registry")

  /** Whether the columns are those of the newest schema in the registry. */
  private lazy val fromRegistry: Boolean = raw.find(Schema).exists(isRegistry) && value.hasRegistry && {
    if (raw.get(ValueFieldsInclude))
      throw Errors.invalidOption(
        Schema.name,
        "registry",
        s"the schema of the values does not have the columns of the keys: with '${ValueFieldsInclude.name}' 'EXCEPT_KEY', name the " +
          "columns."
      )
    true
  }

  /**
   * The format of one side with what is set: its options, by Spark's names, and its registries.
   *
   * @param required whether some cluster has to have a registry
   * @param registry the options of registries that the format has
   * @param settings the options that the format has
   * @param refused the reason why an option of Spark or Flink is not accepted
   */
  private def ofFormat(
      side: String,
      format: Format,
      required: Boolean,
      registry: Seq[OptionSpec[_]],
      settings: FormatSettings,
      refused: (Format, String) => Option[String]
  ): SideFormat = {
    // The options of the side come after those of both, so that they win.
    val (ofRegistry, own) = raw.formats
      .filter { case (key, _) => key.side.forall(_ == side) && key.format == format.name }
      .sortBy(_._1.side.isDefined)
      .partitionMap { case (key, w) =>
        val means = if (format.hasRegistry) RegistryOptionSpecs.withoutPrefix(key.option, registry) else None
        means.map((key, _, w)).toLeft(key -> w)
      }
    val set = own.map { case (key, w) =>
      FormatOptionsParser.setting(settings, refused(format, _), key, w).name -> w.value
    }.toMap
    SideFormat(
      format,
      set,
      registries = if (format.hasRegistry) registries(format, ofRegistry, required) else Registries()
    )
  }

  /**
   * What the options `registry.*`, and those of the format that mean the same, set.
   *
   * @param own those of the format, with the option of a registry that they mean; those of one side come last
   */
  private def registries(
      format: Format,
      own: Seq[(FormatKey, OptionSpec[_], RawOptions.Written)],
      required: Boolean
  ): Registries = {
    val shared = RegistryOptionSpecs.all.flatMap(spec => raw.written(spec).map(spec -> _))
    for ((spec, w) <- shared; (key, other, again) <- own)
      if (other == spec && key.side.isEmpty && again.value != w.value)
        throw Errors.invalidOption(
          again.name,
          spec.shown(again.value),
          s"the same option is also set as '${w.name}', to '${spec.shown(w.value)}'."
        )
    val all = shared ++ own.map { case (_, spec, w) => spec -> w }
    all.foreach { case (spec, w) => spec.parse(w.value, w.name) }
    val found = Registries(all.map { case (spec, w) => spec.key -> w.value.trim }.toMap, ofClusters)
    found.check(format.name, required && !isCatalogTable)
    found
  }

  private def ofClusters: Map[String, String] = raw.cluster.filter { case (key, _) =>
    OptionName.normalize(key).contains(s".${RegistryOptionSpecs.Prefix}")
  }

  /** An option of a registry without a format that has one is refused. */
  private def checkRegistries(): Unit = if (!formats.exists(_.hasRegistry)) {
    val written = RegistryOptionSpecs.all.flatMap(raw.written).map(_.name) ++
      ofClusters.keys.toSeq.sorted.map(OptionName.Cluster + _)
    written.headOption.foreach(name =>
      throw Errors.invalidOption(
        name,
        Redaction.Redacted,
        s"it has no effect: a format with a registry is one of ${Formats.registered.names(_.hasRegistry)}."
      )
    )
  }

  /** Keys and values have different schemas: they cannot have one subject. */
  private def checkSubjects(value: SideFormat, key: SideFormat): Unit = {
    def subject(side: SideFormat) = side.registries.shared.get(RegistryOptionSpecs.Subject.key)
    subject(value).filter(subject(key).contains(_)).foreach(both =>
      throw Errors.invalidOption(
        RegistryOptionSpecs.Subject.name,
        both,
        "keys and values would have the same subject. Set " +
          s"'${FormatKey.Value}.${value.format.name}.subject' and '${FormatKey.Key}.${key.format.name}.subject'."
      )
    )
  }

  /** The format of one side in a query that reads, with what happens to bad records. */
  private def readBy(side: SideFormat, own: OptionSpec[ParseErrors]): SideFormat = {
    import FormatSetting.{FailOnMissingField, IgnoreParseErrors}
    val (format, set) = (side.format, side.options)
    def name(setting: FormatSetting) = s"${format.name}.${setting.name}"
    def exclusive(option: FormatSetting, other: String) = throw Errors.invalidOption(
      name(option),
      "true",
      s"'$other' is also set, but only one of them is allowed."
    )
    val ignores = IgnoreParseErrors.isOn(set)
    if (ignores) {
      Seq(own, OnParseErrors).find(raw.isSet).foreach(spec => exclusive(IgnoreParseErrors, spec.name))
      if (FailOnMissingField.isOn(set)) exclusive(FailOnMissingField, name(IgnoreParseErrors))
    }
    for (missing <- format.settings.find(s => s.required.isDefined && !set.contains(s.name)))
      throw Errors.missingOption(name(missing), missing.required.get)
    side.copy(
      options = format.forDecoder(set -- FormatOptionsParser.ofConnector),
      parseErrors = if (ignores) ParseErrors.Ignore else raw.find(own).getOrElse(raw.get(OnParseErrors)),
      failOnMissingField = FailOnMissingField.isOn(set)
    )
  }

  /** An option of a format that is not in use is refused. */
  private def checkFormats(): Unit =
    raw.formats.foreach { case (option @ FormatKey(side, format, _), w) =>
      val inUse = side match {
        case Some(FormatKey.Key) => key.toSeq
        case Some(_) => Seq(value)
        case None => formats
      }
      if (!inUse.exists(_.name == format))
        throw Errors.invalidOption(
          w.name,
          if (isSecret(option)) Redaction.Redacted else w.value,
          s"the format '$format' is not in use: '${ValueFormat.name}' is '${value.name}'" +
            s"${key.fold("")(k => s", '${KeyFormat.name}' is '${k.name}'")}."
        )
    }

  /** It is not known which properties of a class of the user are secrets. */
  private def isSecret(key: FormatKey) =
    RegistryOptionSpecs.withoutPrefix(key.option).isDefined ||
      (FormatOptionSpecs.classes ++ WriteOptionSpecs.classes).exists(_.name == key.format)

  /** An option that has no effect is refused. */
  private def checkUse(): Unit = {
    for (w <- raw.written(ChangeData) if !value.isChange && raw.get(ChangeData) != ChangeMode.Upsert)
      throw w.invalid(
        s"it has no effect: a format of changes is one of ${Formats.registered.names(_.isChange)}. For records with a key, use 'upsert'."
      )
    val uses =
      Seq(OnParseErrors -> formats, OnValueParseErrors -> Seq(value), OnKeyParseErrors -> key.toSeq)
    for ((spec, formats) <- uses; w <- raw.written(spec) if !formats.exists(_.canFail))
      throw w.invalid(
        s"it has no effect: a format that can fail to decode is one of ${Formats.registered.names(_.hasFields)}."
      )
  }

  private def refuse(spec: OptionSpec[_], value: String, reason: String): Nothing =
    throw Errors.invalidOption(raw.written(spec).fold(spec.name)(_.name), value, reason)
}
