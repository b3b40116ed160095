package io.github.dynamickafka.format.table

import io.github.dynamickafka.format.{
  ChangeMode,
  Format,
  FormatWriter,
  KafkaSerdes,
  MetadataColumn,
  MetadataItem,
  ParseErrors
}
import io.github.dynamickafka.option.{FormatKey, OptionSpec, OptionSpecs, OptionType}
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
    "The format of the values, also as `valueFormat`. `raw`: the binary columns of Spark's Kafka source; `string`: a " +
      "column `value` of type STRING; `metadata`: format, schema and options as the [metadata](metadata.md#formats) has them; all " +
      "others: the columns of `schema`. See [formats](formats.md)."
  )

  val KeyFormat = optional(
    "keyFormat",
    Formats.registered.toRead,
    "keys are not decoded",
    aliases = Seq("key.format")
  )(
    "The format of the keys. `raw` and `string` give one column, `key` or the one of `keyFields`; all others require `keyFields`."
  )

  val ValueDeserializer = optional("valueDeserializer", KafkaSerdes.deserializers("valueDeserializer"))(
    "A class of Kafka's interface `Deserializer` that reads the values, in place of `format`. `valueDeserializer.<property>` sets its " +
      "properties. See [extending](extending.md#kafkas-deserializers-and-serializers)."
  )

  val KeyDeserializer = optional("keyDeserializer", KafkaSerdes.deserializers("keyDeserializer"))(
    "The same for keys, in place of `keyFormat`. They are the column `key`."
  )

  val KeyFields = optional("keyFields", names, aliases = Seq("key.fields"))(
    "The columns of `schema` that keys contain."
  )

  val KeyFieldsPrefix = optional("keyFieldsPrefix", text, "no prefix", aliases = Seq("key.fields-prefix"))(
    "A prefix of the names in `keyFields` and in `schema` that the fields in the keys do not have. Requires " +
      "`valueFieldsInclude=EXCEPT_KEY`."
  )

  val ValueFieldsInclude = option(
    "valueFieldsInclude",
    oneOf("ALL" -> false, "EXCEPT_KEY" -> true),
    "ALL",
    aliases = Seq("value.fields-include")
  )(
    "Whether values contain the columns of `keyFields` too: with `ALL` they are read from the values, with `EXCEPT_KEY` " +
      "from the keys."
  )

  val Schema = optional("schema", text, "required by formats with fields")(
    "The columns of the records: DDL (`id BIGINT, name STRING`), the JSON of a `StructType`, an Avro schema of a record, or " +
      "`registry`: the newest schema in the registry of a format that has one."
  )

  val MetadataColumns = optional(
    "metadataColumns",
    MetadataItem.list,
    MetadataColumn.default.map(_.name).mkString("`", " ", "`")
  )(
    "The columns after the decoded ones, in this order: " + MetadataColumn.all.map(c =>
      s"`${c.name}`"
    ).mkString(", ") +
      "; and `value.<key>` for metadata of the format. `<column> AS <name>` renames. Empty: none."
  )

  val MetadataPrefix = optional("metadataPrefix", text, "no prefix")(
    "The prefix of the names of these columns, if `schema` has a column of the same name."
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
    "What a record of a format of changes becomes: `rows`, the rows before and after with a column `_change_type`; " +
      "`envelope`, one row with `op`, `before`, `after`, `source` and `ts_ms`. See [change data](change-data.md). `upsert`, with any " +
      "other format: the stream is a table with a key, in which a null value deletes; requires `keyFormat` and `keyFields`. See " +
      "[upserts](change-data.md#upserts)."
  )

  val OnParseErrors = option("parseErrors", parseErrorsType, "fail")(
    "What happens when a key or value cannot be decoded: `fail` fails the query with `DECODE_FAILED`; with `null`, a field " +
      "that does not fit is null, and so are all columns if nothing can be parsed; `drop` skips the record and counts it; " +
      "`keep` is `null` with the columns `_corrupt_record` (the bytes) and `_decode_error` (the reason); " +
      "`dead-letter`, in streaming queries, writes the record to `deadLetterTopic`."
  )

  val OnKeyParseErrors = optional("keyParseErrors", parseErrorsType, "`parseErrors`")("The same, for keys.")

  val OnValueParseErrors = optional("valueParseErrors", parseErrorsType, "`parseErrors`")(
    "The same, for values."
  )

  val DeadLetterTopic = optional("deadLetterTopic", text, "required by `parseErrors=dead-letter`")(
    "The topic for records that cannot be decoded, on the cluster of the record. Headers `dynamic-kafka-...` contain the " +
      "reason and the place of the record."
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

  /** The formats that can be written. */
  val formats: Seq[Format] = Formats.registered.written

  val ValueFormat = declare(FormatOptionSpecs.ValueFormat.copy(
    valueType = Formats.registered.valuesToWrite,
    doc =
      "The format of the values, also as `valueFormat`. `raw`: the column `value`, STRING or BINARY; `string`: the column " +
        "`value`, STRING; `metadata`: format, schema and options as the [metadata](metadata.md#formats) has them; all others: the " +
        "columns that do not route the record. See [formats](formats.md#writing)."
  ))

  val KeyFormat = declare(FormatOptionSpecs.KeyFormat.copy(
    valueType = Formats.registered.toWrite,
    defaultText = "with `raw` values: the column `key`, else records have no key",
    doc =
      "The format of the keys. `raw` and `string`: one column, `key` or the one of `keyFields`; all others: the columns of `keyFields`."
  ))

  val ValueSerializer = optional("valueSerializer", KafkaSerdes.serializers("valueSerializer"))(
    "A class of Kafka's interface `Serializer` that writes the values, in place of `format`. `valueSerializer.<property>` sets its " +
      "properties. See [extending](extending.md#kafkas-deserializers-and-serializers)."
  )

  val KeySerializer = optional("keySerializer", KafkaSerdes.serializers("keySerializer"))(
    "The same for keys, in place of `keyFormat`. They are the column `key`."
  )

  /** See [[FormatOptionSpecs.classes]]. */
  val classes: Seq[OptionSpec[Format]] = Seq(ValueSerializer, KeySerializer)

  val KeyFields = declare(FormatOptionSpecs.KeyFields.copy(doc = "The columns that keys contain."))

  val KeyFieldsPrefix = declare(FormatOptionSpecs.KeyFieldsPrefix.copy(
    doc = "A prefix of the names in `keyFields` that the fields in the keys do not get. Requires " +
      "`valueFieldsInclude=EXCEPT_KEY`."
  ))

  val ValueFieldsInclude = declare(FormatOptionSpecs.ValueFieldsInclude.copy(
    doc =
      "Whether values contain the columns of `keyFields` too: with `ALL` they do, with `EXCEPT_KEY` only keys contain them."
  ))

  val Schema = declare(FormatOptionSpecs.Schema.copy(
    defaultText = "the columns of the DataFrame",
    doc =
      "The columns of the records: DDL (`id BIGINT, name STRING`), the JSON of a `StructType`, an Avro schema of a record, or " +
        "`registry`: the newest schema in the registry of a format that has one. The columns of the DataFrame are bound by name and cast by the rules of ANSI SQL's store assignment; a missing one is null."
  ))

  val ChangeData = declare(FormatOptionSpecs.ChangeData.copy(
    doc =
      "`upsert`: a row with `delete` in the column `_change_type` is written as a null value, so that compaction removes its key; requires " +
        "`keyFormat` and `keyFields`. See [upserts](change-data.md#upserts). Other values have no effect."
  ))

  val MetadataPrefix = declare(FormatOptionSpecs.MetadataPrefix.copy(
    doc =
      "The prefix of the names of the columns that route a record, such as `topic`, if the records have a field of the same name."
  ))

  include(RegistryOptionSpecs.all)

  /** Whether an option of a format only concerns reading: the settings of a catalog, or of a session, may contain it. */
  def readsOnly(key: FormatKey): Boolean = exists(key) { (format, writer) =>
    format.settings.exists(s => s.named(key.option) && s.refusedInWrites.isEmpty) &&
    !writer.settings.exists(_.named(key.option))
  }

  /** Whether an option of a format only concerns writing. */
  def writesOnly(key: FormatKey): Boolean = exists(key) { (format, writer) =>
    (writer.settings.exists(_.named(key.option)) && !format.settings.exists(_.named(key.option))) ||
    (format.hasRegistry && RegistryOptionSpecs.withoutPrefix(key.option).contains(
      RegistryOptionSpecs.AutoRegister
    ))
  }

  private def exists(key: FormatKey)(isOne: (Format, FormatWriter) => Boolean): Boolean =
    formats.find(_.name == key.format).exists(format => format.writer.exists(isOne(format, _)))
}
