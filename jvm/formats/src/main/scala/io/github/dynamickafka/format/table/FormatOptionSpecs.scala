package io.github.dynamickafka.format.table

import io.github.dynamickafka.format.{
  ChangeMode,
  Format,
  KafkaSerdes,
  MetadataColumn,
  MetadataItem,
  ParseErrors
}
import io.github.dynamickafka.option.{OptionSpec, OptionSpecs, OptionType}
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
    oneOf[ChangeMode]("rows" -> ChangeMode.Rows, "envelope" -> ChangeMode.Envelope, "upsert" -> ChangeMode.Upsert),
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
