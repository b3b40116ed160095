package io.github.dynamickafka.topology

/** Where to continue if a cluster id leads to another Kafka cluster than before. */
private[dynamickafka] sealed trait ReplacedClusterPolicy extends Product with Serializable

private[dynamickafka] object ReplacedClusterPolicy {
  case object Fail extends ReplacedClusterPolicy
  case object Earliest extends ReplacedClusterPolicy
  case object Latest extends ReplacedClusterPolicy
}
