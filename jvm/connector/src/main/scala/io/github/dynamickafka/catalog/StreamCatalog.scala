package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{
  SinkOptions,
  SinkOptionsParser,
  SourceOptionSpecs,
  SourceOptions,
  SourceOptionsParser
}
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.option.OptionSpec
import io.github.dynamickafka.source.DynamicKafkaTable
import io.github.dynamickafka.time.Clock

/**
 * The streams of one metadata service. The service is created at the first use, and kept as long as the session, so that
 * it may keep its answers for `metadataService.ttlMs`.
 *
 * @param name the name of the catalog
 * @param settings see [[CatalogSettings]]
 * @param configuration returns that with which files are read
 */
private[dynamickafka] final class StreamCatalog(
    val name: String,
    settings: Map[String, String],
    configuration: () => Configuration
) {

  private val own = new CatalogSettings(name, settings)

  /** The options of a read, without a stream. */
  lazy val reading: SourceOptions = {
    own.check()
    DynamicKafkaTable.parse(own.forReading("-", CaseInsensitiveStringMap.empty), isCatalogTable = true)
  }

  /**
   * The options of a query, without what delays a batch or makes it smaller: that decides nothing about clusters and topics.
   *
   * @param remembered what the checkpoint of the query has of its options
   */
  def readingAs(remembered: Map[String, String]): SourceOptions = {
    def is(name: String, specs: OptionSpec[_]*) = specs.exists(_.named(name))
    val (selecting, others) = SourceOptionsParser.remembered(remembered).partition { case (name, _) =>
      is(name, SourceOptionSpecs.StreamIds, SourceOptionSpecs.StreamPattern)
    }
    val deciding = others.filterNot { case (name, _) =>
      is(name, SourceOptionSpecs.MinOffsetsPerTrigger, SourceOptionSpecs.Alignment)
    }
    own.check()
    DynamicKafkaTable.parse(
      own.reading(selecting, new CaseInsensitiveStringMap(deciding.asJava)),
      isCatalogTable = true
    )
  }

  /** The options of a write, without a stream. */
  def writing: SinkOptions = {
    own.check()
    SinkOptionsParser.parse(own.forWriting("-", CaseInsensitiveStringMap.empty), isCatalogTable = true)
  }

  def hadoop: Configuration = configuration()

  lazy val service: KafkaMetadataService = MetadataServices.create(reading.service, hadoop)

  private lazy val lookup =
    new StreamLookup(service, reading.service.name, reading.discovery.callTimeoutMs)

  /** All streams, sorted by id. */
  def streams(): Seq[KafkaStream] = lookup.all()

  /** The format of the values of a stream. */
  def format(stream: KafkaStream): String =
    parsed(stream.streamId, stream.getFormatOptions.asScala.toMap).format.value.format.name

  private def parsed(stream: String, document: Map[String, String]): SourceOptions =
    try
      DynamicKafkaTable.parse(
        own.forReading(stream, CaseInsensitiveStringMap.empty, document),
        isCatalogTable = true
      )
    catch {
      case e: DynamicKafkaIllegalArgumentException if e.condition.endsWith(".MISSING_OPTION") =>
        throw Errors.missingOption(e.parameters("option"), s"${e.parameters("reason")} Stream '$stream'.")
    }

  /** The ids of all streams, sorted. */
  def ids(): Seq[String] = streams().map(_.streamId)

  /** None: the metadata service does not have the stream. Asks no Kafka cluster. */
  def table(stream: String): Option[StreamTable] = lookup.stream(stream).map { found =>
    val document = found.getFormatOptions.asScala.toMap
    val options = parsed(stream, document)
    val answer = new AnswerOnce(found, Clock.System)
    new StreamTable(
      s"$name.$stream",
      ofStream(stream, document),
      DynamicKafkaTable.of(options, None, answer, isCatalogTable = true),
      StreamProperties.of(found, options.format.value.format.name),
      answer
    )
  }

  /** The stream as of a time, in microseconds since 1970-01-01 UTC. */
  def table(stream: String, asOf: Long): Option[Table] = table(stream).map(new PastTable(_, asOf))

  private def ofStream(stream: String, document: Map[String, String]) = new TableOptions {
    override def reading(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
      own.forReading(stream, ofQuery, document)
    override def writing(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
      own.forWriting(stream, ofQuery, document)
  }
}
