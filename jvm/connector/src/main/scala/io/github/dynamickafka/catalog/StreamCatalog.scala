package io.github.dynamickafka.catalog

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.metadata.registry.MetadataServices
import io.github.dynamickafka.source.DynamicKafkaTable
import io.github.dynamickafka.time.Clock

/**
 * The streams of one metadata service. The service is created at the first use, and kept as long as the session, so that
 * it may keep its answers for `metadataService.ttlMs`.
 *
 * @param name the name of the catalog
 * @param settings see [[CatalogSettings]]
 */
private[dynamickafka] final class StreamCatalog(name: String, settings: Map[String, String]) {

  private val own = new CatalogSettings(name, settings)

  private lazy val lookup = {
    own.check()
    val options =
      DynamicKafkaTable.parse(own.forReading("-", CaseInsensitiveStringMap.empty), isCatalogTable = true)
    val service =
      MetadataServices.create(options.service, SparkSession.active.sparkContext.hadoopConfiguration)
    new StreamLookup(service, options.service.name, options.discovery.callTimeoutMs)
  }

  /** The ids of all streams, sorted. */
  def ids(): Seq[String] = lookup.all().map(_.streamId)

  /** None: the metadata service does not have the stream. Asks no Kafka cluster. */
  def table(stream: String): Option[StreamTable] = lookup.stream(stream).map { found =>
    val document = found.getFormatOptions.asScala.toMap
    val options =
      DynamicKafkaTable.parse(
        own.forReading(stream, CaseInsensitiveStringMap.empty, document),
        isCatalogTable = true
      )
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
