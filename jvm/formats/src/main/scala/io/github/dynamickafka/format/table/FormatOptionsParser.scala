package io.github.dynamickafka.format.table

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{
  ChangeMode,
  DeclaredSchema,
  Format,
  FormatMetadata,
  FormatOptions,
  FormatSetting,
  MetadataItem,
  ParseErrors,
  SchemaText,
  SideFormat
}
import io.github.dynamickafka.option.{FormatKey, OptionSpec, RawOptions, Suggestions}

/** Parses the options about formats, or throws an error for the first that is invalid or has no effect. Pure. */
private[dynamickafka] object FormatOptionsParser {
  import FormatOptionSpecs._

  /**
   * @param isCatalogTable whether the metadata of clusters may have registries too
   * @param formats those that the options can name
   */
  def parse(
      raw: RawOptions,
      isCatalogTable: Boolean = false,
      formats: Formats = Formats.registered
  ): FormatOptions = {
    val valueFormat = ofClass(raw, ValueDeserializer, ValueFormat)
      .getOrElse(raw.get(ValueFormat.copy(valueType = formats.valuesToRead)))
    val keyFormat = ofClass(raw, KeyDeserializer, KeyFormat)
      .orElse(raw.find(KeyFormat.copy(valueType = formats.toRead)))
    val fields = keyFields(raw, keyFormat)
    if (!isCatalogTable) RegistryOptions.checkUse(raw, valueFormat +: keyFormat.toSeq)
    val value = side(raw, FormatKey.Value, Some(valueFormat), OnValueParseErrors, isCatalogTable)
    val key = side(raw, FormatKey.Key, keyFormat, OnKeyParseErrors, isCatalogTable)
    checkFormats(raw, valueFormat, keyFormat)
    checkUse(raw, valueFormat, keyFormat)
    FormatOptions(
      value.getOrElse(SideFormat(valueFormat)),
      key,
      fields,
      prefix(raw, fields),
      raw.get(ValueFieldsInclude),
      if (RegistryOptions.givesSchema(raw, valueFormat)) None
      else
        schema(
          raw,
          valueFormat +: keyFormat.toSeq,
          avroOptions(value, key)
        ).orElse(valueFormat.fixedSchema.map(columns => DeclaredSchema(SchemaText.nullable(columns)))),
      metadata(raw, valueFormat),
      raw.find(MetadataPrefix).getOrElse(""),
      raw.get(ChangeData) == ChangeMode.Envelope,
      RegistryOptions.givesSchema(raw, valueFormat),
      deadLetterTopic(raw, value.toSeq ++ key),
      raw.find(DeadLetterCluster),
      isUpsert(raw, valueFormat, keyFormat, fields)
    )
  }

  /** The format by a class of Kafka's interfaces; None: the option is not set. */
  private[format] def ofClass(
      raw: RawOptions,
      spec: OptionSpec[Format],
      beside: OptionSpec[Format]
  ): Option[Format] = raw.written(spec).map { w =>
    raw.written(beside).foreach(format =>
      throw Errors.invalidOption(
        w.name,
        w.value,
        s"'${format.name}' is also set, but only one of the two options is allowed."
      )
    )
    spec.parse(w.value, w.name)
  }

  /** Whether the stream is a table with a key. */
  private[format] def isUpsert(
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

  private[format] def keyFields(raw: RawOptions, keyFormat: Option[Format]): Seq[String] = {
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

  private[format] def prefix(raw: RawOptions, fields: Seq[String]): String = {
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

  /** Of the values, or, if these are not Avro, of the keys. */
  private def avroOptions(sides: Option[SideFormat]*): Map[String, String] =
    sides.flatten.find(_.format.readsAvroSchema).fold(Map.empty[String, String])(_.options)

  private[format] def schema(
      raw: RawOptions,
      formats: Seq[Format],
      avroOptions: Map[String, String] = Map.empty
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

  /** The format of one side with its options; None if the side has none. */
  private def side(
      raw: RawOptions,
      name: String,
      format: Option[Format],
      own: OptionSpec[ParseErrors],
      isCatalogTable: Boolean
  ): Option[SideFormat] = {
    val set = raw.formats.filter { case (key, _) => key.side.forall(_ == name) }
    format.map { found =>
      // The options of the side come after those of both, so that they win.
      val (ofRegistry, ofFormat) = set.filter(_._1.format == found.name).sortBy(_._1.side.isDefined)
        .partition { case (key, _) => RegistryOptions.find(found, key.option).isDefined }
      val settings = ofFormat.map { case (key, w) =>
        setting(found.settings, found.setting, FormatSetting.refused(found, _), key, w) -> w.value
      }.toMap
      val flags = settings.map { case (setting, value) => setting.name -> value }
      def isSet(setting: FormatSetting) = flags.get(setting.name).exists(_.trim.toBoolean)
      val ignores = isSet(FormatSetting.IgnoreParseErrors)
      if (ignores && (raw.isSet(own) || raw.isSet(OnParseErrors)))
        throw Errors.invalidOption(
          s"${found.name}.${FormatSetting.IgnoreParseErrors.name}",
          "true",
          s"'${if (raw.isSet(own)) own.name else OnParseErrors.name}' is also set, but only one of them is allowed."
        )
      if (ignores && isSet(FormatSetting.FailOnMissingField))
        throw Errors.invalidOption(
          s"${found.name}.${FormatSetting.FailOnMissingField.name}",
          "true",
          s"'${found.name}.${FormatSetting.IgnoreParseErrors.name}' is also set, but only one of them is allowed."
        )
      for (
        missing <- found.settings.find(s => s.required.isDefined && !settings.contains(s));
        why <- missing.required
      )
        throw Errors.missingOption(s"${found.name}.${missing.name}", why)
      SideFormat(
        found,
        found.forDecoder(flags -- ofConnector),
        if (ignores) ParseErrors.Ignore else raw.find(own).getOrElse(raw.get(OnParseErrors)),
        isSet(FormatSetting.FailOnMissingField),
        RegistryOptions.of(
          raw,
          found,
          ofRegistry,
          required = !isCatalogTable &&
            (found.registry.exists(_.isRequired) || RegistryOptions.givesSchema(raw, found))
        )
      )
    }
  }

  /**
   * The setting that an option means, with its value checked.
   *
   * @param refused the reason why an option of Spark or Flink is not accepted
   */
  private[format] def setting(
      settings: Seq[FormatSetting],
      find: String => Option[FormatSetting],
      refused: String => Option[String],
      key: FormatKey,
      w: RawOptions.Written
  ): FormatSetting = {
    val found = find(key.option).getOrElse {
      refused(key.option).foreach(reason =>
        throw Errors.invalidOption(w.name, w.value, reason)
      )
      val prefix = w.name.dropRight(key.option.length)
      throw Errors.unknownOption(
        w.name,
        Suggestions.closest(key.option, settings.map(_.name)).map(prefix + _)
      )
    }
    found.valueType.parse(w.value.trim).left.foreach(reason =>
      throw Errors.invalidOption(w.name, w.value, reason)
    )
    found
  }

  /** An option of a format that is not in use is refused. */
  private[format] def checkFormats(raw: RawOptions, value: Format, key: Option[Format]): Unit =
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
