package io.github.dynamickafka.config

/** What the writing query asked for, parsed and checked. Holds Kafka properties, so `toString` tells only the stream. */
private[dynamickafka] final case class SinkOptions(
    service: ServiceOptions,
    streamId: Option[String],
    discovery: DiscoveryOptions,
    clusters: ClusterOptions,
    routing: ClusterRouting,
    guarantee: DeliveryGuarantee,
    partitioner: PartitionerChoice,
    deadLetters: Option[DeadLetterOptions],
    transactions: TransactionOptions
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

  /** An implementation of Kafka's `Partitioner`, made by the producers. */
  final case class OfClass(name: String) extends PartitionerChoice

  def parse(text: String): Either[String, PartitionerChoice] = text match {
    case word if word.equalsIgnoreCase("default") => Right(Default)
    case word if word.equalsIgnoreCase("fixed") => Right(Fixed)
    case word if word.equalsIgnoreCase("round-robin") => Right(RoundRobin)
    case name =>
      PartitionerClasses.problem(name).toLeft(OfClass(name)).left.map(problem =>
        s"it is none of 'default', 'fixed', 'round-robin', and no partitioner: $problem."
      )
  }
}

/**
 * @param topic on the cluster of the row
 * @param cluster for rows that have none
 */
private[dynamickafka] final case class DeadLetterOptions(topic: String, cluster: Option[String])

/**
 * What is for exactly-once only.
 *
 * @param checkpointLocation as Spark passes it on, which is where the journal is
 * @param replayLost `partialCommitPolicy=replay-lost-partitions`
 */
private[dynamickafka] final case class TransactionOptions(
    idPrefix: String,
    checkpointLocation: Option[String],
    commitTimeoutMs: Long,
    replayLost: Boolean
)
