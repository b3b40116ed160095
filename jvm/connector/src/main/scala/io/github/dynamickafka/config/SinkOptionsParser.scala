package io.github.dynamickafka.config

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.option.{RawOptions, SecretOptions}
import io.github.dynamickafka.error.Errors

/** Parses the options of a query that writes into [[SinkOptions]], with the contract of [[SourceOptionsParser]]. */
private[dynamickafka] object SinkOptionsParser {
  import SinkOptionSpecs._

  def parse(options: CaseInsensitiveStringMap): SinkOptions = {
    val raw = RawOptions(withoutName(options), table)
    SecretOptions.warn(raw)
    val guarantee = raw.get(Guarantee)
    guarantee match {
      case DeliveryGuarantee.ExactlyOnce => checkAcks(raw)
      case DeliveryGuarantee.AtLeastOnce => checkAcknowledged(raw)
      case DeliveryGuarantee.None => ()
    }
    SinkOptions(
      service = MetadataServiceSpecs.parse(raw),
      streamId = raw.find(StreamId),
      discovery = DiscoveryOptions(
        intervalMs = raw.get(SourceOptionSpecs.DiscoveryIntervalMs),
        failureThreshold = raw.get(SourceOptionSpecs.DiscoveryFailureThreshold),
        callTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
        allowMissingStreams = false
      ),
      clusters = ClusterOptions(
        skipUnreachable = false,
        failureTimeoutMs = -1L,
        requestTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
        skipUnreachableReplay = false,
        groupIdPrefix = None,
        shared = raw.kafka,
        perCluster = raw.cluster,
        clientIdPrefix = raw.find(SourceOptionSpecs.ClientIdPrefix),
        table = table
      ),
      routing = raw.get(Routing),
      guarantee = guarantee,
      partitioner = raw.get(Partitioner),
      deadLetters = deadLetters(raw),
      transactions = TransactionOptions(
        raw.get(TransactionalIdPrefix),
        raw.find(CheckpointLocation),
        jobId(raw, guarantee),
        raw.get(CommitTimeoutMs),
        raw.get(PartialCommitPolicy),
        raw.get(UnknownCommit)
      )
    )
  }

  /** Spark passes the name of a query as an option. */
  private def withoutName(options: CaseInsensitiveStringMap) = new CaseInsensitiveStringMap(
    options.asCaseSensitiveMap.asScala.filterNot(_._1.equalsIgnoreCase("queryName")).asJava
  )

  private def jobId(raw: RawOptions, guarantee: DeliveryGuarantee): Option[String] = {
    for (id <- raw.find(JobId) if guarantee != DeliveryGuarantee.ExactlyOnce)
      throw Errors.invalidOption(
        JobId.name,
        id,
        "it has no effect, because 'deliveryGuarantee' is not 'exactly-once'."
      )
    raw.find(JobId)
  }

  private def deadLetters(raw: RawOptions): Option[DeadLetterOptions] = {
    val cluster = raw.find(DeadLetterCluster)
    for (id <- cluster if !raw.isSet(DeadLetterTopic))
      throw Errors.invalidOption(
        DeadLetterCluster.name,
        id,
        s"it has no effect, because '${DeadLetterTopic.name}' is not set."
      )
    raw.find(DeadLetterTopic).map(DeadLetterOptions(_, cluster))
  }

  /** Kafka rejects these values too, but only when a task creates its producer. */
  private def checkAcks(raw: RawOptions): Unit =
    written(raw).foreach { case (writtenAs, key, value) =>
      def is(property: String) = key.toLowerCase(Locale.ROOT).split("kafka\\.").last.endsWith(property)
      def refuse(reason: String) = throw Errors.invalidOption(writtenAs, value, reason)
      if (is("enable.idempotence") && value.trim.equalsIgnoreCase("false"))
        refuse("'deliveryGuarantee' is 'exactly-once', and transactions require idempotence.")
      if (isAcks(key) && !Set("all", "-1")(value.trim))
        refuse("'deliveryGuarantee' is 'exactly-once', and transactions require 'all'.")
    }

  private def checkAcknowledged(raw: RawOptions): Unit =
    written(raw).filter(w => isAcks(w._2)).foreach { case (writtenAs, _, value) =>
      Acknowledgements.check(writtenAs, value).foreach(why =>
        throw Errors.invalidOption(writtenAs, value, why)
      )
    }

  /** The Kafka properties among the options: as written, the name that ends with the property, and the value. */
  private def written(raw: RawOptions): Iterable[(String, String, String)] =
    raw.kafka.map { case (name, value) => (s"kafka.$name", name, value) } ++
      raw.cluster.map { case (key, value) => (s"cluster.$key", key, value) }

  private def isAcks(key: String): Boolean = key.toLowerCase(Locale.ROOT).split('.').last == "acks"
}
