package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{FormatOptionSpecs, Formats, WriteOptionSpecs}
import io.github.dynamickafka.kafka.SecretOptions
import io.github.dynamickafka.option.{
  ClusterKeys,
  FormatKey,
  OptionName,
  OptionSpec,
  OptionTable,
  Suggestions
}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/**
 * The settings of tables, of all of a catalog or of one of the session catalog, and what of them applies to one side. Pure.
 *
 * @param catalog the name of the catalog, whose settings are `spark.sql.catalog.<name>.<option>`; None: a table of the session catalog
 * @param settings option names as the user wrote them, without a prefix, with their values
 */
private[dynamickafka] final class CatalogSettings(
    catalog: Option[String],
    settings: Map[String, String]
) {
  import CatalogSettings._

  /** How the user writes an option there. */
  private def written(option: String): String =
    catalog.fold(option)(name => s"spark.sql.catalog.$name.$option")

  /** Where to set an option, after "Set it". */
  private def hint(option: String): String =
    if (catalog.isEmpty) "in OPTIONS of CREATE TABLE" else s"as '${written(option)}'"

  /**
   * Checks the names; values are checked where they are used.
   *
   * @throws DynamicKafkaIllegalArgumentException `INVALID_OPTION` for an option that selects streams,
   *                                              `UNKNOWN_OPTION`
   */
  def check(): Unit = settings.toSeq.sorted.foreach { case (name, value) =>
    find(name).filter(Selecting).foreach(_ =>
      throw Errors.invalidOption(
        written(name),
        value,
        "a table of the catalog is one stream; its name is the id."
      )
    )
    if (!isPrefixed(name) && !Tables.exists(_.has(name)))
      throw Errors.unknownOption(
        written(name),
        Tables.flatMap(Suggestions.forOption(name, _)).headOption.map(written)
      )
  }

  /**
   * The options of a read of one stream.
   *
   * @param document what the metadata says about the format of the stream; takes precedence over the settings
   */
  def forReading(
      stream: String,
      ofQuery: CaseInsensitiveStringMap,
      document: Map[String, String] = Map.empty
  ): CaseInsensitiveStringMap =
    merged(
      SourceOptionSpecs.table,
      Map(SourceOptionSpecs.StreamIds.name -> stream),
      ofQuery,
      stream,
      document
    )

  /** The options of a write to one stream; see [[forReading]]. */
  def forWriting(
      stream: String,
      ofQuery: CaseInsensitiveStringMap,
      document: Map[String, String] = Map.empty
  ): CaseInsensitiveStringMap =
    merged(SinkOptionSpecs.table, Map(SinkOptionSpecs.StreamId.name -> stream), ofQuery, stream, document)

  /** The options of a read; see [[forReading]]. `selection` are the options that select the streams. */
  def reading(selection: Map[String, String], ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
    merged(SourceOptionSpecs.table, selection, ofQuery)

  /** An option of a query takes precedence over the setting, in whatever spelling. */
  private def merged(
      table: OptionTable,
      selection: Map[String, String],
      ofQuery: CaseInsensitiveStringMap,
      stream: String = "",
      document: Map[String, String] = Map.empty
  ): CaseInsensitiveStringMap = {
    val query = ofQuery.asCaseSensitiveMap.asScala.toMap
    query.toSeq.sorted.foreach { case (name, value) => refuseLate(name, value) }
    val defaults = DocumentFormats.over(table, settings, document, stream)
      .filter { case (name, _) => applies(table, name) }
    underQuery(table, defaults, query ++ selection)
  }

  private def applies(table: OptionTable, name: String): Boolean =
    OptionName.afterPrefix(name, OptionName.Cluster) match {
      case Some(key) => ClusterKeys.endsWithOption(key, other(table)).forall(_ =>
          ClusterKeys.endsWithOption(key, table).exists(_._2.perCluster)
        )
      case None => isPrefixed(name) || table.has(name)
    }

  private def refuseLate(name: String, value: String): Unit = {
    if (SecretOptions.contained(Map(name -> value)).nonEmpty)
      throw Errors.invalidOption(
        name,
        Redaction.Redacted,
        "Spark would print this secret with the plan of the query. Use a reference to a Kafka config provider, or store it " +
          "in the metadata."
      )
    if (isOfService(name))
      throw Errors.invalidOption(
        name,
        value,
        s"the table is described by its metadata service, before Spark passes the options of a query. Set it ${hint(name)}."
      )
    if (
      Tables.flatMap(_.find(name)).exists(spec => Deciding(spec) || keepsBadRecords(spec, value)) ||
      Tables.flatMap(table => FormatKey.of(name, table.formats)).exists(Formats.registered.decidesColumns)
    )
      throw Errors.invalidOption(
        name,
        value,
        "it determines the columns or the stream of the table, which are known before Spark passes the options of a query. " +
          s"Set it ${hint(name)}, or read with 'format(\"dynamic-kafka\")'."
      )
  }
}

private[dynamickafka] object CatalogSettings {

  private val Tables = Seq(SourceOptionSpecs.table, SinkOptionSpecs.table)

  private[catalog] def find(name: String): Option[OptionSpec[_]] = Tables.flatMap(_.find(name)).headOption

  /** The options that a table sets. */
  private[catalog] val Selecting: Set[OptionSpec[_]] =
    Set(SourceOptionSpecs.StreamIds, SourceOptionSpecs.StreamPattern, SinkOptionSpecs.StreamId)

  private val Deciding: Set[OptionSpec[_]] = Selecting ++ Set[OptionSpec[_]](
    SourceOptionSpecs.IncludeHeaders,
    FormatOptionSpecs.ValueFormat,
    FormatOptionSpecs.KeyFormat,
    FormatOptionSpecs.ValueDeserializer,
    FormatOptionSpecs.KeyDeserializer,
    FormatOptionSpecs.KeyFields,
    FormatOptionSpecs.KeyFieldsPrefix,
    FormatOptionSpecs.ValueFieldsInclude,
    FormatOptionSpecs.Schema,
    FormatOptionSpecs.MetadataColumns,
    FormatOptionSpecs.ChangeData,
    FormatOptionSpecs.MetadataPrefix
  )
  private val ParseErrors: Set[OptionSpec[_]] = Set(
    FormatOptionSpecs.OnParseErrors,
    FormatOptionSpecs.OnKeyParseErrors,
    FormatOptionSpecs.OnValueParseErrors
  )

  /** `keep` adds columns. */
  private def keepsBadRecords(spec: OptionSpec[_], value: String) =
    ParseErrors(spec) && value.trim.equalsIgnoreCase("keep")

  private def isOfService(name: String) =
    SourceOptionSpecs.MetadataService.named(name) ||
      OptionName.afterPrefix(name, OptionName.MetadataService).isDefined

  private def isPrefixed(name: String): Boolean =
    OptionName.Prefixes.exists(OptionName.afterPrefix(name, _).isDefined)

  /** The options of a query, and others that it does not set, in whatever spelling. */
  private[catalog] def underQuery(
      table: OptionTable,
      defaults: Map[String, String],
      query: Map[String, String]
  ): CaseInsensitiveStringMap = {
    val set = query.keySet.map(keyOf(table, _))
    new CaseInsensitiveStringMap(
      (defaults.filterNot { case (name, _) => set(keyOf(table, name)) } ++ query).asJava
    )
  }

  private[catalog] def other(table: OptionTable): OptionTable =
    if (table eq SourceOptionSpecs.table) SinkOptionSpecs.table else SourceOptionSpecs.table

  private def keyOf(table: OptionTable, name: String) =
    if (isPrefixed(name)) name else table.find(name).fold(OptionName.normalize(name))(_.key)

}

/** Puts what the metadata says about the format of a stream over the settings of a catalog. Pure. */
private[catalog] object DocumentFormats {

  /** The options that name the format of one side, of which only one may be set. */
  private val Alternatives: Seq[Seq[OptionSpec[_]]] = Seq(
    Seq(FormatOptionSpecs.ValueFormat, FormatOptionSpecs.ValueDeserializer, WriteOptionSpecs.ValueSerializer),
    Seq(FormatOptionSpecs.KeyFormat, FormatOptionSpecs.KeyDeserializer, WriteOptionSpecs.KeySerializer)
  )

  /**
   * With a `format` in the metadata, `schema` and the options of other formats in the settings do not apply.
   *
   * @param table the options of the side that is used; the metadata may contain those of the other side as well
   * @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID` for an option that is not about formats
   */
  def over(
      table: OptionTable,
      settings: Map[String, String],
      document: Map[String, String],
      stream: String
  ): Map[String, String] = {
    val other = CatalogSettings.other(table)
    val formats = (table.formats ++ other.formats).distinct
    def key(name: String) = table.find(name).orElse(other.find(name)).fold(name)(_.key)
    def isKnown(name: String) =
      if (name.startsWith(RegistryOptionSpecs.Prefix)) false
      else if (FormatKey.of(name, formats).isDefined) !other.has(name) || table.has(name)
      else if ((FormatOptionSpecs.all ++ WriteOptionSpecs.classes).exists(_.named(name)))
        table.has(name)
      else throw Errors.metadataInvalid(
        s"stream '$stream', key 'options'",
        s"'$name' is not an option of a format"
      )
    val known = document.filter { case (name, _) => isKnown(name) }
    val own = known.keySet.map(key)
    val kept = settings.filterNot { case (name, _) =>
      own(key(name)) || Alternatives.exists(of =>
        of.exists(_.named(name)) && of.exists(spec => own(spec.key))
      )
    }
    if (!own(FormatOptionSpecs.ValueFormat.key)) kept ++ known
    else {
      val inUse = (known ++ kept).collect {
        case (name, value)
            if Seq(FormatOptionSpecs.ValueFormat, FormatOptionSpecs.KeyFormat).exists(_.named(name)) =>
          value.trim.toLowerCase(java.util.Locale.ROOT)
      }.toSet
      kept.filterNot { case (name, _) =>
        FormatOptionSpecs.Schema.named(name) || FormatKey.of(name, formats).exists(k => !inUse(k.format))
      } ++ known
    }
  }
}
