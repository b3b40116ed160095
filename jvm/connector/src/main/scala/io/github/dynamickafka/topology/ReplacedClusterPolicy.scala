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

/** The names of topics that MirrorMaker 2 copies and writes, as its `ReplicationPolicy` has them. */
private[dynamickafka] trait MirroredTopics {

  /** The name on the target of a topic of the source `alias`. */
  def mirrored(alias: String, topic: String): String

  /** The name on its source of a topic that was copied; None: it was not. */
  def upstream(topic: String): Option[String]

  /** The topic on the target with the checkpoints of the source `alias`. */
  def checkpoints(alias: String): String
}

private[dynamickafka] object MirroredTopics {

  /**
   * MirrorMaker's `DefaultReplicationPolicy`, or its `IdentityReplicationPolicy`, which changes no name.
   *
   * @param internalSeparator whether the separator is also that of MirrorMaker's own topics
   */
  final case class Standard(identity: Boolean, separator: String = ".", internalSeparator: Boolean = true)
      extends MirroredTopics {

    override def mirrored(alias: String, topic: String): String =
      if (keeps(topic)) topic else alias + separator + topic

    override def upstream(topic: String): Option[String] =
      if (keeps(topic)) Some(topic)
      else Option(topic.indexOf(separator)).filter(_ >= 0).map(at => topic.substring(at + separator.length))

    override def checkpoints(alias: String): String = {
      val between = if (internalSeparator) separator else "."
      s"$alias${between}checkpoints${between}internal"
    }

    // Topics of heartbeats never keep their names.
    private def keeps(topic: String) = identity && !topic.endsWith("heartbeats")
  }
}
