package io.github.dynamickafka.config

import org.apache.kafka.clients.producer.Partitioner

import io.github.dynamickafka.format.table.{ClusterRegistries, FormatTable, Formats}
import io.github.dynamickafka.page.PageSettings

/**
 * The parsed and checked options of a query that writes. Contains Kafka properties, so `toString` shows only the stream
 * and the delivery guarantee.
 *
 * @param failover `writeFailover=next`
 * @param distribution `clusterDistribution=auto`
 * @param format how rows become keys and values
 * @param page where the query is shown; None: it is not
 */
private[dynamickafka] final case class SinkOptions(
    service: ServiceOptions,
    streamId: Option[String],
    discovery: DiscoveryOptions,
    clusters: ClusterOptions,
    routing: ClusterRouting,
    failover: Boolean,
    distribution: Boolean,
    guarantee: DeliveryGuarantee,
    partitioner: PartitionerChoice,
    deadLetters: Option[DeadLetterOptions],
    transactions: TransactionOptions,
    format: FormatTable = Formats.plain,
    clusterRegistries: ClusterRegistries = ClusterRegistries(),
    page: Option[PageSettings] = None
) {
  override def toString: String = s"SinkOptions(${streamId.getOrElse("by row")}, $guarantee)"
}

private[dynamickafka] sealed trait ClusterRouting extends Product with Serializable
private[dynamickafka] object ClusterRouting {
  case object Key extends ClusterRouting
  case object First extends ClusterRouting
  case object All extends ClusterRouting
}

private[dynamickafka] sealed trait DeliveryGuarantee extends Product with Serializable
private[dynamickafka] object DeliveryGuarantee {
  case object None extends DeliveryGuarantee
  case object AtLeastOnce extends DeliveryGuarantee
  case object ExactlyOnce extends DeliveryGuarantee
}

private[dynamickafka] sealed trait PartitionerChoice extends Product with Serializable
private[dynamickafka] object PartitionerChoice {
  case object Default extends PartitionerChoice
  case object Fixed extends PartitionerChoice
  case object RoundRobin extends PartitionerChoice

  /** An implementation of Kafka's `Partitioner`, which the producers instantiate. */
  final case class OfClass(name: String) extends PartitionerChoice

  def parse(text: String): Either[String, PartitionerChoice] = text match {
    case word if word.equalsIgnoreCase("default") => Right(Default)
    case word if word.equalsIgnoreCase("fixed") => Right(Fixed)
    case word if word.equalsIgnoreCase("round-robin") => Right(RoundRobin)
    case name =>
      PartitionerClasses.problem(name).toLeft(OfClass(name)).left.map(problem =>
        s"it is neither 'default', 'fixed' nor 'round-robin', nor a partitioner: $problem."
      )
  }
}

/**
 * The destination of rows that cannot be routed.
 *
 * @param topic the topic, on the cluster of the row
 * @param cluster the cluster for rows without a known cluster
 */
private[dynamickafka] final case class DeadLetterOptions(topic: String, cluster: Option[String])

/**
 * Options of exactly-once delivery.
 *
 * @param checkpointLocation the option of the query, where the journal is stored
 * @param replayLost `partialCommitPolicy=replay-lost-partitions`
 * @param unknown `unknownCommitPolicy`
 */
private[dynamickafka] final case class TransactionOptions(
    idPrefix: String,
    checkpointLocation: Option[String],
    commitTimeoutMs: Long,
    replayLost: Boolean,
    unknown: UnknownCommitPolicy
)

/** What is assumed about a transaction of which Kafka cannot say whether it was committed. */
private[dynamickafka] sealed trait UnknownCommitPolicy extends Product with Serializable
private[dynamickafka] object UnknownCommitPolicy {
  case object Fail extends UnknownCommitPolicy
  case object AssumeCommitted extends UnknownCommitPolicy
  case object AssumeAborted extends UnknownCommitPolicy
}

/** Checks the class of a custom partitioner. */
private object PartitionerClasses {

  def problem(name: String): Option[String] =
    try {
      val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
      val found = Class.forName(name, false, loader)
      Option.when(!classOf[Partitioner].isAssignableFrom(found))(
        s"'$name' does not implement ${classOf[Partitioner].getName}"
      )
    } catch {
      case _: ClassNotFoundException | _: LinkageError => Some(s"the class path has no class '$name'")
    }
}
