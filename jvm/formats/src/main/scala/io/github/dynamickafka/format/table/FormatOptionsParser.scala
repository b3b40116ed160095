package io.github.dynamickafka.format.table

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{
  ChangeMode,
  DeclaredSchema,
  Format,
  FormatMetadata,
  FormatSetting,
  FormatSettings,
  MetadataItem,
  ParseErrors,
  SchemaText,
  SideFormat
}
import io.github.dynamickafka.option.{FormatKey, OptionSpec, RawOptions, Suggestions}
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
  ): FormatTable = {
    val value = format(raw, ValueDeserializer, ValueFormat.copy(valueType = formats.valuesToRead))
      .getOrElse(Formats.default)
    val key = format(raw, KeyDeserializer, KeyFormat.copy(valueType = formats.toRead))
    def side(name: String, own: OptionSpec[ParseErrors])(of: Format) = {
      val required = of.registry.exists(_.isRequired) || RegistryOptions.givesSchema(raw, value)
      val (set, registries) = ofFormat(
        raw,
        name,
        of,
        !isCatalogTable && required,
        RegistryOptionSpecs.reading,
        of,
        FormatSetting.refused
      )
      readBy(raw, of, set, own).copy(registries = registries)
    }
    val common = parse(raw, isCatalogTable, value, key)(
      side(FormatKey.Value, OnValueParseErrors),
      side(FormatKey.Key, OnKeyParseErrors)
    )
    checkUse(raw, value, key)
    common.copy(
      metadata = metadata(raw, value),
      changeEnvelope = raw.get(ChangeData) == ChangeMode.Envelope,
      deadLetterTopic = deadLetterTopic(raw, common.sides),
      deadLetterCluster = raw.find(DeadLetterCluster)
    )
  }

  /** Parses the options of a query that writes; see [[reading]]. */
  def writing(
      raw: RawOptions,
      isCatalogTable: Boolean = false,
      formats: Formats = Formats.registered
  ): FormatTable = {
    val value = format(
      raw,
      WriteOptionSpecs.ValueSerializer,
      WriteOptionSpecs.ValueFormat.copy(valueType = formats.valuesToWrite)
    )
      .getOrElse(Formats.default)
    val key = format(
      raw,
      WriteOptionSpecs.KeySerializer,
      WriteOptionSpecs.KeyFormat.copy(valueType = formats.toWrite)
    )
    def side(name: String)(of: Format) = {
      val writer = of.writer.get
      val (set, registries) = ofFormat(
        raw,
        name,
        of,
        !isCatalogTable && of.hasRegistry,
        RegistryOptionSpecs.all,
        writer,
        FormatSetting.refusedInWrites
      )
      SideFormat(of, writer.forEncoder(set), registries = registries)
    }
    val common = parse(raw, isCatalogTable, value, key)(side(FormatKey.Value), side(FormatKey.Key))
    common.key.foreach(RegistryOptions.checkSubjects(common.value, _))
    common
  }

  private def parse(raw: RawOptions, isCatalogTable: Boolean, value: Format, key: Option[Format])(
      ofValue: Format => SideFormat,
      ofKey: Format => SideFormat
  ): FormatTable = {
    val all = value +: key.toSeq
    val fields = keyFields(raw, key)
    if (!isCatalogTable) RegistryOptions.checkUse(raw, all)
    val (valueSide, keySide) = (ofValue(value), key.map(ofKey))
    checkFormats(raw, value, key)
    val fromRegistry = RegistryOptions.givesSchema(raw, value)
    // The options of the values, or, if these are not Avro, those of the keys.
    val avro = (valueSide +: keySide.toSeq).find(_.format.readsAvroSchema)
    FormatTable(
      valueSide,
      keySide,
      fields,
      prefix(raw, fields),
      raw.get(ValueFieldsInclude),
      if (fromRegistry) None
      else
        schema(raw, all, avro.fold(Map.empty[String, String])(_.options))
          .orElse(value.fixedSchema.map(columns => DeclaredSchema(SchemaText.nullable(columns)))),
      metadataPrefix = raw.find(MetadataPrefix).getOrElse(""),
      schemaFromRegistry = fromRegistry,
      upsert = isUpsert(raw, value, key, fields)
    )
  }

  /** The format by a class of Kafka's interfaces, or by its name; None: neither option is set. */
  private def format(
      raw: RawOptions,
      byClass: OptionSpec[Format],
      named: OptionSpec[Format]
  ): Option[Format] = raw.written(byClass).fold(raw.find(named)) { w =>
    raw.written(named).foreach(format =>
      throw Errors.invalidOption(
        w.name,
        w.value,
        s"'${format.name}' is also set, but only one of the two options is allowed."
      )
    )
    Some(byClass.parse(w.value, w.name))
  }

  /** Whether the stream is a table with a key. */
  private def isUpsert(
      raw: RawOptions,
      value: Format,
      key: Option[Format],
      keyFields: Seq[String]
  ): Boolean = raw.get(ChangeData) == ChangeMode.Upsert && {
    def missing(name: String, what: String) =
      throw Errors.missingOption(name, s"set it to the $what, because '${ChangeData.name}' is 'upsert'.")
    if (value.isChange)
      refuse(raw, ChangeData, "upsert", s"the format '${value.name}' has changes of its own.")
    if (key.isEmpty) missing(KeyFormat.name, "format of the keys")
    if (keyFields.isEmpty) missing(KeyFields.name, "columns that keys contain")
    true
  }

  private def deadLetterTopic(raw: RawOptions, sides: Seq[SideFormat]): Option[String] = {
    val found = raw.find(DeadLetterTopic)
    if (found.isEmpty && sides.exists(_.parseErrors == ParseErrors.DeadLetter))
      throw Errors.missingOption(
        DeadLetterTopic.name,
        s"set it to the topic for records that cannot be decoded, because '${OnParseErrors.name}' is 'dead-letter'."
      )
    found
  }

  private def metadata(raw: RawOptions, format: Format): Option[Seq[MetadataItem]] = {
    val items = raw.find(MetadataColumns)
    items.toSeq.flatten.foreach {
      case MetadataItem.OfFormat(key, _) if FormatMetadata.find(format, key).isEmpty =>
        val known = format.metadata.map(m => s"'value.${m.key}'").mkString(", ")
        refuse(
          raw,
          MetadataColumns,
          raw.written(MetadataColumns).fold("")(_.value),
          s"the format '${format.name}' has no metadata 'value.$key'" +
            (if (known.isEmpty) "." else s"; it has $known.")
        )
      case _ =>
    }
    items
  }

  private def keyFields(raw: RawOptions, keyFormat: Option[Format]): Seq[String] = {
    val fields = raw.find(KeyFields)
    (keyFormat, fields) match {
      case (Some(format), _) if format.isChange =>
        refuse(raw, KeyFormat, format.name, "keys have no changes.")
      case (None, Some(names)) =>
        refuse(raw, KeyFields, names.mkString(","), s"'${KeyFormat.name}' is not set.")
      case (Some(format), None) if format.hasFields =>
        throw Errors.missingOption(
          KeyFields.name,
          s"set it to the columns of '${Schema.name}' that keys contain, because '${KeyFormat.name}' is '${format.name}'."
        )
      case (Some(format), Some(names)) if !format.hasFields && names.size != 1 =>
        refuse(
          raw,
          KeyFields,
          names.mkString(","),
          s"'${KeyFormat.name}' is '${format.name}', which gives one column."
        )
      case _ => fields.getOrElse(Nil)
    }
  }

  private def prefix(raw: RawOptions, fields: Seq[String]): String = {
    if (fields.isEmpty)
      raw.written(ValueFieldsInclude).foreach(w =>
        refuse(raw, ValueFieldsInclude, w.value, s"it has no effect without '${KeyFields.name}'.")
      )
    raw.find(KeyFieldsPrefix).fold("") { prefix =>
      if (!raw.get(ValueFieldsInclude))
        refuse(raw, KeyFieldsPrefix, prefix, s"it requires '${ValueFieldsInclude.name}=EXCEPT_KEY'.")
      fields.find(!_.startsWith(prefix)).foreach(name =>
        refuse(
          raw,
          KeyFieldsPrefix,
          prefix,
          s"the column '$name' of '${KeyFields.name}' does not begin with it."
        )
      )
      prefix
    }
  }

  private def schema(
      raw: RawOptions,
      formats: Seq[Format],
      avroOptions: Map[String, String]
  ): Option[DeclaredSchema] =
    raw.find(Schema).map { text =>
      val format = formats.head
      if (!formats.exists(_.hasFields))
        refuse(
          raw,
          Schema,
          text,
          s"the format '${format.name}' has fixed columns. Set '${ValueFormat.name}' to one of " +
            Formats.registered.names(_.hasFields) + "."
        )
      if (format.fixedSchema.isDefined)
        refuse(raw, Schema, text, s"the format '${format.name}' determines the columns itself.")
      if (text.trim.equalsIgnoreCase("registry"))
        refuse(raw, Schema, text, s"the format '${format.name}' has no registry.")
      SchemaText.parse(text, avroOptions, columns => formats.flatMap(_.avroSchema(columns)).headOption).fold(
        reason => throw Errors.invalidSchema(s"option '${Schema.name}': $reason"),
        identity
      )
    }

  /** Options of formats that the connector handles itself. */
  private val ofConnector = Seq(FormatSetting.IgnoreParseErrors, FormatSetting.FailOnMissingField).map(_.name)

  /**
   * What is set for the format of one side: its options by Spark's names, and its registries.
   *
   * @param settings the options that the format has
   * @param refused the reason why an option of Spark or Flink is not accepted
   */
  private def ofFormat(
      raw: RawOptions,
      side: String,
      format: Format,
      required: Boolean,
      registry: Seq[OptionSpec[_]],
      settings: FormatSettings,
      refused: (Format, String) => Option[String]
  ): (Map[String, String], Registries) = {
    // The options of the side come after those of both, so that they win.
    val (ofRegistry, own) = raw.formats
      .filter { case (key, _) => key.side.forall(_ == side) && key.format == format.name }
      .sortBy(_._1.side.isDefined)
      .partition { case (key, _) => RegistryOptions.find(format, key.option, registry).isDefined }
    val set = own.map { case (key, w) =>
      setting(settings, refused(format, _), key, w).name -> w.value
    }.toMap
    set -> RegistryOptions.of(raw, format, ofRegistry, required)
  }

  /** The setting that an option means, with its value checked. */
  private def setting(
      settings: FormatSettings,
      refused: String => Option[String],
      key: FormatKey,
      w: RawOptions.Written
  ): FormatSetting = {
    val found = settings.setting(key.option).getOrElse {
      refused(key.option).foreach(reason =>
        throw Errors.invalidOption(w.name, w.value, reason)
      )
      val prefix = w.name.dropRight(key.option.length)
      throw Errors.unknownOption(
        w.name,
        Suggestions.closest(key.option, settings.settings.map(_.name)).map(prefix + _)
      )
    }
    found.valueType.parse(w.value.trim).left.foreach(reason =>
      throw Errors.invalidOption(w.name, w.value, reason)
    )
    found
  }

  /** The format of one side in a query that reads, with what happens to bad records. */
  private def readBy(
      raw: RawOptions,
      format: Format,
      set: Map[String, String],
      own: OptionSpec[ParseErrors]
  ): SideFormat = {
    def isSet(setting: FormatSetting) = set.get(setting.name).exists(_.trim.toBoolean)
    def name(setting: FormatSetting) = s"${format.name}.${setting.name}"
    val ignores = isSet(FormatSetting.IgnoreParseErrors)
    def exclusive(option: FormatSetting, other: String) = throw Errors.invalidOption(
      name(option),
      "true",
      s"'$other' is also set, but only one of them is allowed."
    )
    if (ignores)
      Seq(own, OnParseErrors).find(raw.isSet).foreach(spec =>
        exclusive(FormatSetting.IgnoreParseErrors, spec.name)
      )
    if (ignores && isSet(FormatSetting.FailOnMissingField))
      exclusive(FormatSetting.FailOnMissingField, name(FormatSetting.IgnoreParseErrors))
    for (missing <- format.settings.find(s => s.required.isDefined && !set.contains(s.name)))
      throw Errors.missingOption(name(missing), missing.required.get)
    SideFormat(
      format,
      format.forDecoder(set -- ofConnector),
      if (ignores) ParseErrors.Ignore else raw.find(own).getOrElse(raw.get(OnParseErrors)),
      isSet(FormatSetting.FailOnMissingField)
    )
  }

  /** An option of a format that is not in use is refused. */
  private def checkFormats(raw: RawOptions, value: Format, key: Option[Format]): Unit =
    raw.formats.foreach { case (option @ FormatKey(side, format, _), w) =>
      val inUse = side match {
        case Some(FormatKey.Key) => key.toSeq
        case Some(_) => Seq(value)
        case None => value +: key.toSeq
      }
      if (!inUse.exists(_.name == format))
        throw Errors.invalidOption(
          w.name,
          RegistryOptions.shown(option, w),
          s"the format '$format' is not in use: '${ValueFormat.name}' is '${value.name}'" +
            s"${key.fold("")(k => s", '${KeyFormat.name}' is '${k.name}'")}."
        )
    }

  /** An option that has no effect is refused. */
  private def checkUse(raw: RawOptions, value: Format, key: Option[Format]): Unit = {
    for (w <- raw.written(ChangeData) if !value.isChange && raw.get(ChangeData) != ChangeMode.Upsert)
      throw Errors.invalidOption(
        w.name,
        w.value,
        s"it has no effect: a format of changes is one of ${Formats.registered.names(_.isChange)}. For records with a key, use 'upsert'."
      )
    val uses = Seq(
      OnParseErrors -> (value +: key.toSeq),
      OnValueParseErrors -> Seq(value),
      OnKeyParseErrors -> key.toSeq
    )
    for ((spec, formats) <- uses; w <- raw.written(spec) if !formats.exists(_.canFail))
      throw Errors.invalidOption(
        w.name,
        w.value,
        s"it has no effect: a format that can fail to decode is one of ${Formats.registered.names(_.hasFields)}."
      )
  }

  private def refuse(raw: RawOptions, spec: OptionSpec[_], value: String, reason: String): Nothing =
    throw Errors.invalidOption(raw.written(spec).fold(spec.name)(_.name), value, reason)
}
