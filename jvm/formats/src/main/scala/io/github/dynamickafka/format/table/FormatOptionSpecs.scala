package io.github.dynamickafka.format.table

import io.github.dynamickafka.format._
import io.github.dynamickafka.option.{Default, FormatKey, OptionSpec, OptionSpecs, OptionType}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** The options of the source about formats and columns. The options of one format are in its folder. */
private[dynamickafka] object FormatOptionSpecs extends OptionSpecs {
  import OptionType._

  private val parseErrorsType = oneOf[ParseErrors](
    "fail" -> ParseErrors.Fail,
    "null" -> ParseErrors.Nulls,
    "drop" -> ParseErrors.Drop,
    "keep" -> ParseErrors.Keep,
    "dead-letter" -> ParseErrors.DeadLetter
  )

  val ValueFormat = option(
    "format",
    Formats.registered.valuesToRead,
    "raw",
    aliases = Seq("valueFormat", "value.format")
  )(
    "The format of the values, also as `valueFormat`. `metadata`: that of the [metadata](metadata.md#formats)."
  )

  val KeyFormat = optional(
    "keyFormat",
    Formats.registered.toRead,
    "keys are not decoded",
    aliases = Seq("key.format")
  )(
    "The format of the keys. `raw` and `string` give one column, `key` or that of `keyFields`; others require " +
      "`keyFields`."
  )

  val ValueDeserializer = optional("valueDeserializer", KafkaSerdes.deserializers("valueDeserializer"))(
    "A class of Kafka's interface `Deserializer`, in place of `format`; `valueDeserializer.<property>` sets its " +
      "properties. See [extending](extending.md#kafkas-deserializers-and-serializers)."
  )

  val KeyDeserializer = optional("keyDeserializer", KafkaSerdes.deserializers("keyDeserializer"))(
    "The same for keys, in place of `keyFormat`. They are the column `key`."
  )

  val KeyFields = optional("keyFields", names, aliases = Seq("key.fields"))(
    "The columns that keys contain."
  )

  val KeyFieldsPrefix = optional("keyFieldsPrefix", text, "no prefix", aliases = Seq("key.fields-prefix"))(
    "A prefix in `keyFields` and `schema` that the fields in the keys do not have. Requires " +
      "`valueFieldsInclude=EXCEPT_KEY`."
  )

  val ValueFieldsInclude = option(
    "valueFieldsInclude",
    oneOf("ALL" -> false, "EXCEPT_KEY" -> true),
    "ALL",
    aliases = Seq("value.fields-include")
  )(
    "Whether values have the columns of `keyFields` too, from which they are read (`ALL`), or only keys have them."
  )

  val Schema = optional("schema", text, "required by formats with fields")(
    "The columns of the records: DDL (`id BIGINT, name STRING`), the JSON of a `StructType`, an Avro schema, or " +
      "`registry`: the newest schema of the subject."
  )

  val MetadataColumns = optional(
    "metadataColumns",
    MetadataItem.list,
    MetadataColumn.default.map(_.name).mkString("`", " ", "`")
  )(
    "The columns after the decoded ones, in this order: " + MetadataColumn.all.map(c =>
      s"`${c.name}`"
    ).mkString(", ") +
      ", and `value.<key>` for metadata of the format. `<column> AS <name>` renames. Empty: none."
  )

  val MetadataPrefix = optional("metadataPrefix", text, "no prefix")(
    "A prefix of metadata columns, if `schema` has a column of the same name."
  )

  val ChangeData = option(
    "changeData",
    oneOf[ChangeMode](
      "rows" -> ChangeMode.Rows,
      "envelope" -> ChangeMode.Envelope,
      "upsert" -> ChangeMode.Upsert
    ),
    "rows"
  )(
    "What a record of a format of changes becomes ([change data](change-data.md)). `upsert`, with other " +
      "formats: null values delete keys; requires `keyFormat` and `keyFields` " +
      "([upserts](change-data.md#upserts))."
  )

  val OnParseErrors = option("parseErrors", parseErrorsType, "fail")(
    "What happens to a key or value that cannot be decoded ([bad records](formats.md#bad-records)). " +
      "`dead-letter` is for streaming queries."
  )

  private def onParseErrorsOf(side: String) =
    optional(s"${side}ParseErrors", parseErrorsType, "`parseErrors`")(
      s"Instead of `parseErrors`, for ${side}s."
    )
  val OnKeyParseErrors = onParseErrorsOf("key")
  val OnValueParseErrors = onParseErrorsOf("value")

  val DeadLetterTopic = optional("deadLetterTopic", text, "required by `parseErrors=dead-letter`")(
    "The topic for records that cannot be decoded, whose headers `dynamic-kafka-...` have the reason and the place " +
      "of the record."
  )

  val DeadLetterCluster = optional("deadLetterCluster", text, "the cluster of the record")(
    "The cluster with `deadLetterTopic`."
  )

  include(RegistryOptionSpecs.reading)

  /** Options that name a class in place of a format; they have options below their name as a format has. */
  val classes: Seq[OptionSpec[Format]] = Seq(ValueDeserializer, KeyDeserializer)
}

/** The options of the sink about formats: names and types as those of the source, see [[FormatOptionSpecs]]. */
private[dynamickafka] object WriteOptionSpecs extends OptionSpecs {
  val formats: Seq[Format] = Formats.registered.written

  val ValueFormat = declare(FormatOptionSpecs.ValueFormat.copy(valueType = Formats.registered.valuesToWrite))

  val KeyFormat = declare(FormatOptionSpecs.KeyFormat.copy(
    valueType = Formats.registered.toWrite,
    default = Default(None, "with `raw` values: the column `key`, else records have no key"),
    doc =
      "The format of the keys. `raw` and `string`: one column, `key` or that of `keyFields`; others: the " +
        "columns of `keyFields`."
  ))

  val ValueSerializer = optional("valueSerializer", KafkaSerdes.serializers("valueSerializer"))(
    "A class of Kafka's interface `Serializer`, in place of `format`; `valueSerializer.<property>` sets its " +
      "properties. See [extending](extending.md#kafkas-deserializers-and-serializers)."
  )

  val KeySerializer = optional("keySerializer", KafkaSerdes.serializers("keySerializer"))(
    "The same for keys, in place of `keyFormat`, from the column `key`."
  )

  /** See [[FormatOptionSpecs.classes]]. */
  val classes: Seq[OptionSpec[Format]] = Seq(ValueSerializer, KeySerializer)

  import FormatOptionSpecs.{KeyFields, KeyFieldsPrefix, ValueFieldsInclude}
  include(Seq(KeyFields, KeyFieldsPrefix, ValueFieldsInclude))

  val Schema = declare(FormatOptionSpecs.Schema.copy(
    default = Default(None, "the columns of the DataFrame"),
    doc =
      "Columns are bound by name and cast as in an `INSERT` (ANSI); a missing one is null."
  ))

  val ChangeData = declare(FormatOptionSpecs.ChangeData.copy(
    doc =
      "`upsert`: a row with `delete` in the column `_change_type` is written as a null value; requires `keyFormat` and " +
        "`keyFields` ([upserts](change-data.md#upserts)). Other values have no effect."
  ))

  val MetadataPrefix = declare(FormatOptionSpecs.MetadataPrefix.copy(
    doc =
      "A prefix of the columns that route a record, such as `topic`, if the records have a field of the same " +
        "name."
  ))

  include(RegistryOptionSpecs.all)

  /** Whether an option of a format only concerns reading: the settings of a catalog, or of a session, may contain it. */
  def readsOnly(key: FormatKey): Boolean = exists(key) { (format, writer) =>
    format.settings.exists(s => s.named(key.option) && s.refusedInWrites.isEmpty) &&
    !writer.settings.exists(_.named(key.option))
  }

  def writesOnly(key: FormatKey): Boolean = exists(key) { (format, writer) =>
    (writer.settings.exists(_.named(key.option)) && !format.settings.exists(_.named(key.option))) ||
    (format.hasRegistry && RegistryOptionSpecs.withoutPrefix(key.option).contains(
      RegistryOptionSpecs.AutoRegister
    ))
  }

  private def exists(key: FormatKey)(isOne: (Format, FormatWriter) => Boolean): Boolean =
    formats.find(_.name == key.format).exists(format => format.writer.exists(isOne(format, _)))
}
