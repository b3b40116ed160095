package io.github.dynamickafka.catalog

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.TableCatalog
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatOptionSpecs
import io.github.dynamickafka.kafka.SecretOptions
import io.github.dynamickafka.option.OptionSpec
import io.github.dynamickafka.sink.DynamicKafkaSinkTable
import io.github.dynamickafka.source.DynamicKafkaTable

/**
 * Tables of Spark's session catalog, which stores their options and columns (SPARK-46043):
 *
 * {{{
 * CREATE TABLE orders (id BIGINT, customer STRING, cluster STRING) USING `dynamic-kafka`
 * OPTIONS (metadataService 'file', metadataService.path '/etc/streams.yaml', streamId 'orders', format 'json')
 * }}}
 */
private[dynamickafka] object SessionTable {

  private val Name = "dynamic-kafka"

  /** What Spark adds to the options of such a table. */
  private val SparksOwn = Set(
    TableCatalog.PROP_PROVIDER,
    TableCatalog.PROP_OWNER,
    TableCatalog.PROP_LOCATION,
    TableCatalog.PROP_COMMENT,
    TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_IS_MANAGED_LOCATION,
    "collation",
    "path"
  )

  /** Whether Spark asks for such a table. It gives the same method the options of reads and writes. */
  def isOne(properties: ju.Map[String, String]): Boolean = properties.containsKey(TableCatalog.PROP_PROVIDER)

  /**
   * Called for CREATE TABLE, and for each statement about the table. Asks neither the metadata service nor Kafka, so that a
   * table can also be dropped while they are down.
   *
   * @param columns those of the table; None: they are determined by the options, for CREATE TABLE without columns
   * @param partitioning what PARTITIONED BY has
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException for options that are not valid, and for secrets
   */
  def of(
      properties: ju.Map[String, String],
      columns: Option[StructType],
      partitioning: Array[Transform] = Array.empty
  ): StreamTable = {
    if (partitioning.nonEmpty)
      throw Errors.invalidSchema(
        "a stream has no PARTITIONED BY: the metadata names the clusters and topics of the stream."
      )
    val all = properties match {
      // The map's own keys are in lower case.
      case options: CaseInsensitiveStringMap => options.asCaseSensitiveMap.asScala.toMap
      case other => other.asScala.toMap
    }
    val options = all.filterNot { case (name, _) =>
      name.startsWith(TableCatalog.OPTION_PREFIX) || SparksOwn(name)
    }
    SecretOptions.contained(options).headOption.foreach(name =>
      throw Errors.invalidOption(
        name,
        "(hidden)",
        "the catalog would store and show this secret. Use a reference to a Kafka config provider, or store it in the metadata."
      )
    )
    val declared = options.find(option => FormatOptionSpecs.Schema.named(option._1)).map(_._2.trim)
    val fromRegistry = declared.exists(_.equalsIgnoreCase("registry"))
    // With a schema in the options, the columns are what they were; Spark compares them with those of CREATE TABLE. The registry
    // was asked when the table was created.
    val user = columns.filter(_ => declared.isEmpty || fromRegistry)
    val own = new Options(options, asksRegistry = user.isEmpty)
    val reads = DynamicKafkaTable.parse(own.reading(CaseInsensitiveStringMap.empty), isCatalogTable = true)
    val decoded = user.filterNot(_ => fromRegistry).flatMap(DynamicKafkaTable.decoded(reads, _))
    for (fields <- decoded; field <- user.get if fields.fieldNames.contains(field.name)) refuse(field)
    val written = decoded.map(FormatOptionSpecs.Schema.name -> _.json).toMap
    val read = DynamicKafkaTable.of(reads, user, ofTable = Some(own.reading(_)))
    new StreamTable(
      Name,
      read,
      new DynamicKafkaSinkTable(read.schema(), own.writing(_, written), Some(Name)),
      all.filter { case (name, _) => name.startsWith(TableCatalog.OPTION_PREFIX) || SparksOwn(name) }
    )
  }

  /** What a column can have in Spark, and not in records. */
  private def refuse(field: StructField): Unit = {
    val found =
      if (field.metadata.contains("CURRENT_DEFAULT")) Some("a DEFAULT: leave it out, and write the value")
      else if (StructType(Seq(field)).toNullable.head != field)
        Some("NOT NULL: leave it out, since any record may lack a field")
      else Length.findFirstIn(field.dataType.sql).map(length => s"the type $length: use STRING")
    found.foreach(what => throw Errors.invalidSchema(s"the column '${field.name}' cannot have $what."))
  }

  private val Length = """\b(VAR)?CHAR\(\d+\)""".r

  /** @param asksRegistry whether `schema=registry` is an option of reads */
  private final class Options(options: Map[String, String], asksRegistry: Boolean) {
    private val (selecting, others) = options.partition { case (name, _) =>
      CatalogSettings.find(name).exists(CatalogSettings.Selecting)
    }
    private val settings = new CatalogSettings(None, others)
    private val ofReads =
      if (asksRegistry) settings
      else
        new CatalogSettings(None, others.filterNot { case (name, _) => FormatOptionSpecs.Schema.named(name) })
    settings.check()

    private def selected(spec: OptionSpec[_]) = selecting.collectFirst {
      case (name, value) if spec.named(name) => value.trim
    }

    def reading(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap = {
      val streams = selecting.filterNot { case (name, _) => SinkOptionSpecs.StreamId.named(name) }
      val chosen =
        if (streams.nonEmpty) streams
        else selected(SinkOptionSpecs.StreamId).map(SourceOptionSpecs.StreamIds.name -> _).toMap
      ofReads.reading(chosen, ofQuery)
    }

    /** @param written what the columns of the table add to the options */
    def writing(ofQuery: CaseInsensitiveStringMap, written: Map[String, String]): CaseInsensitiveStringMap = {
      val one = selected(SinkOptionSpecs.StreamId)
        .orElse(selected(SourceOptionSpecs.StreamIds).filterNot(_.exists(c => c == ',' || c == ';')))
      val set = settings.forWriting(
        one.getOrElse(throw Errors.missingOption(
          SinkOptionSpecs.StreamId.name,
          "the table is read from several streams. Set it in OPTIONS of CREATE TABLE to the stream to write to."
        )),
        ofQuery
      )
      new CaseInsensitiveStringMap((set.asCaseSensitiveMap.asScala.toMap ++ written).asJava)
    }
  }
}
