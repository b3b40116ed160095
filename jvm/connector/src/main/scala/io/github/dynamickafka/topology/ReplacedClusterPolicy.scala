package io.github.dynamickafka.topology

/** Where to continue if a cluster id leads to another Kafka cluster than before. */
private[dynamickafka] sealed trait ReplacedClusterPolicy extends Product with Serializable

private[dynamickafka] object ReplacedClusterPolicy {
  case object Fail extends ReplacedClusterPolicy
  case object Earliest extends ReplacedClusterPolicy
  case object Latest extends ReplacedClusterPolicy

  /** The positions of the former cluster, if the new one has the same records. */
  case object SameOffsets extends ReplacedClusterPolicy

  /**
   * The checkpoints of MirrorMaker 2 on the new cluster.
   *
   * @param group the consumer group that the query commits to, of which MirrorMaker writes checkpoints
   * @param sourceAlias how MirrorMaker calls the former cluster; None: as its cluster id
   * @param topics how it names topics
   */
  final case class MirrorMaker(group: String, sourceAlias: Option[String], topics: MirroredTopics)
      extends ReplacedClusterPolicy
}
