package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{MetadataOptions, SinkOptionSpecs, SinkOptions, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{FormatOptionSpecs, FormatTable, Formats}
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.option.OptionTable
import io.github.dynamickafka.sink.DynamicKafkaSinkTable
import io.github.dynamickafka.source.DynamicKafkaTable

/**
 * `format=metadata`: streams have the format, schema, registry and options that their metadata has, as tables of a catalog do. The
 * metadata service is asked when a DataFrame is made, and when a query or job that writes starts; all other options of the query
 * take precedence over its answer.
 *
 * @param table the options of the source or the sink
 * @param query the options of the query
 */
private[dynamickafka] final class MetadataFormat private (table: OptionTable, query: Map[String, String]) {
  import MetadataFormat._

  /** @param user the schema that the user gave to Spark, which replaces that of the metadata */
  private def reading(user: Option[StructType]): DynamicKafkaTable = {
    val plain = DynamicKafkaTable.parse(withoutFormats)
    DynamicKafkaTable.check(plain)
    def options(document: Map[String, String])(ofQuery: CaseInsensitiveStringMap) =
      over(document.filterNot(o => user.isDefined && FormatOptionSpecs.Schema.named(o._1)), ofQuery)
    def parse(document: Map[String, String]) =
      DynamicKafkaTable.parse(options(document)(own), isCatalogTable = true, query.keySet)
    val document = common(plain.metadata, parse(_).records.format)
    DynamicKafkaTable.of(parse(document), user, ofTable = Some(options(document)(_)))
  }

  private def writing(schema: StructType): Table = {
    val plain = SinkOptions.parse(withoutFormats)
    val metadata = plain.ofStream(
      s"format is meant, because '${FormatOptionSpecs.ValueFormat.name}' is '${Formats.OfMetadata}'"
    )
    def parse(document: Map[String, String]) =
      SinkOptions.parse(over(document, own), isCatalogTable = true).records.format
    val document = common(metadata, parse)
    DynamicKafkaSinkTable.check(
      SinkOptions.parse(over(document, own), isCatalogTable = true, query.keySet),
      schema
    )
    def options(ofQuery: CaseInsensitiveStringMap) =
      over(document, DynamicKafkaSinkTable.over(own)(ofQuery))
    new DynamicKafkaSinkTable(schema, options, plain.routing.streamId)
  }

  private def own = new CaseInsensitiveStringMap(query.asJava)

  private def withoutFormats = new CaseInsensitiveStringMap(
    query.filterNot { case (name, _) => Formats.isOption(name, table) }.asJava
  )

  /** The options of a query over those of the metadata. */
  private def over(document: Map[String, String], ofQuery: CaseInsensitiveStringMap) =
    CatalogSettings.underQuery(table, document, withoutMarker(ofQuery))

  /** What the metadata says about the format of the streams. */
  private def common(
      options: MetadataOptions,
      parse: Map[String, String] => FormatTable
  ): Map[String, String] = {
    val documents = MetadataWatcher.described(options).map { stream =>
      val document =
        DocumentFormats.over(table, Map.empty, stream.getFormatOptions.asScala.toMap, stream.streamId)
      if (!document.keys.exists(FormatOptionSpecs.ValueFormat.named))
        throw noFormat(s"stream '${stream.streamId}'")
      stream.streamId -> document
    }
    val (first, document) = documents.headOption.getOrElse(throw noFormat("the streams of the query"))
    documents.drop(1).find { case (_, other) => parse(other) != parse(document) }.foreach { case (other, _) =>
      throw Errors.invalidSchema(
        s"the streams '$first' and '$other' have different formats, schemas or options in the metadata. Read them in queries of " +
          s"their own, or set '${FormatOptionSpecs.ValueFormat.name}' and '${FormatOptionSpecs.Schema.name}' in the query."
      )
    }
    document
  }
}

private[dynamickafka] object MetadataFormat {

  /** The table of a read, if the read has `format=metadata`; see [[DynamicKafkaTable.of]]. */
  def reading(options: CaseInsensitiveStringMap, user: Option[StructType]): Option[DynamicKafkaTable] =
    of(SourceOptionSpecs.table, options).map(_.reading(user))

  /** A query or job that writes, if it has `format=metadata`. */
  def writing(options: CaseInsensitiveStringMap, schema: StructType): Option[Table] =
    of(SinkOptionSpecs.table, options).map(_.writing(schema))

  private def of(table: OptionTable, options: CaseInsensitiveStringMap): Option[MetadataFormat] = {
    val all = options.asCaseSensitiveMap.asScala.toMap
    // Two options that differ are refused where options are parsed.
    val set = all.filter { case (name, _) => FormatOptionSpecs.ValueFormat.named(name) }
    Option.when(set.nonEmpty && set.forall(isMarker))(new MetadataFormat(table, withoutMarker(options)))
  }

  private def isMarker(option: (String, String)) =
    FormatOptionSpecs.ValueFormat.named(option._1) && option._2.trim.equalsIgnoreCase(Formats.OfMetadata)

  private def withoutMarker(options: CaseInsensitiveStringMap): Map[String, String] =
    options.asCaseSensitiveMap.asScala.toMap.filterNot(isMarker)

  private def noFormat(streams: String) = Errors.invalidOption(
    FormatOptionSpecs.ValueFormat.name,
    Formats.OfMetadata,
    s"the metadata has no format of $streams. Add 'format' and 'schema' to the stream in the metadata document; a metadata " +
      "service of your own returns them as 'formatOptions' of 'KafkaStream', in Python 'format_options'. Or set them as options of the query."
  )
}
