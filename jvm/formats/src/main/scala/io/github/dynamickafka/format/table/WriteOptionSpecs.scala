package io.github.dynamickafka.format.table

import io.github.dynamickafka.format.{ChangeMode, Format, FormatWriter, KafkaSerdes}
import io.github.dynamickafka.option.{FormatKey, OptionSpec}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** The options of the sink about formats: names and types as those of the source, see [[FormatOptionSpecs]]. */
private[dynamickafka] object WriteOptionSpecs {

  /** Those that can be written. */
  val formats: Seq[Format] = Formats.registered.written

  val ValueFormat: OptionSpec[Format] = FormatOptionSpecs.ValueFormat.copy(
    valueType = Formats.registered.valuesToWrite,
    doc =
      "The format of the values, also as `valueFormat`. `raw`: the column `value`, STRING or BINARY; `string`: the column " +
        "`value`, STRING; `metadata`: format, schema and options as the [metadata](metadata.md#formats) has them; all others: the " +
        "columns that do not route the record. See [formats](formats.md#writing)."
  )

  val KeyFormat: OptionSpec[Format] = FormatOptionSpecs.KeyFormat.copy(
    valueType = Formats.registered.toWrite,
    defaultText = "with `raw` values: the column `key`, else records have no key",
    doc =
      "The format of the keys. `raw` and `string`: one column, `key` or the one of `keyFields`; all others: the columns of `keyFields`."
  )

  val ValueSerializer: OptionSpec[Format] = OptionSpec(
    "valueSerializer",
    KafkaSerdes.serializers("valueSerializer"),
    None,
    "-",
    "A class of Kafka's interface `Serializer` that writes the values, in place of `format`. `valueSerializer.<property>` sets its " +
      "properties. See [extending](extending.md#kafkas-deserializers-and-serializers)."
  )

  val KeySerializer: OptionSpec[Format] = OptionSpec(
    "keySerializer",
    KafkaSerdes.serializers("keySerializer"),
    None,
    "-",
    "The same for keys, in place of `keyFormat`. They are the column `key`."
  )

  /** See [[FormatOptionSpecs.classes]]. */
  val classes: Seq[OptionSpec[Format]] = Seq(ValueSerializer, KeySerializer)

  val KeyFields: OptionSpec[Seq[String]] =
    FormatOptionSpecs.KeyFields.copy(doc = "The columns that keys contain.")

  val KeyFieldsPrefix: OptionSpec[String] = FormatOptionSpecs.KeyFieldsPrefix.copy(
    doc = "A prefix of the names in `keyFields` that the fields in the keys do not get. Requires " +
      "`valueFieldsInclude=EXCEPT_KEY`."
  )

  val ValueFieldsInclude: OptionSpec[Boolean] = FormatOptionSpecs.ValueFieldsInclude.copy(
    doc =
      "Whether values contain the columns of `keyFields` too: with `ALL` they do, with `EXCEPT_KEY` only keys contain them."
  )

  val Schema: OptionSpec[String] = FormatOptionSpecs.Schema.copy(
    defaultText = "the columns of the DataFrame",
    doc =
      "The columns of the records: DDL (`id BIGINT, name STRING`), the JSON of a `StructType`, an Avro schema of a record, or " +
        "`registry`: the newest schema in the registry of a format that has one. The columns of the DataFrame are bound by name and cast by the rules of ANSI SQL's store assignment; a missing one is null."
  )

  val ChangeData: OptionSpec[ChangeMode] = FormatOptionSpecs.ChangeData.copy(
    doc =
      "`upsert`: a row with `delete` in the column `_change_type` is written as a null value, so that compaction removes its key; requires " +
        "`keyFormat` and `keyFields`. See [upserts](change-data.md#upserts). Other values have no effect."
  )

  val MetadataPrefix: OptionSpec[String] = FormatOptionSpecs.MetadataPrefix.copy(
    doc =
      "The prefix of the names of the columns that route a record, such as `topic`, if the records have a field of the same name."
  )

  val all: Seq[OptionSpec[_]] =
    Seq(
      ValueFormat,
      KeyFormat,
      ValueSerializer,
      KeySerializer,
      KeyFields,
      KeyFieldsPrefix,
      ValueFieldsInclude,
      Schema,
      ChangeData,
      MetadataPrefix
    ) ++
      RegistryOptionSpecs.all

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
