package io.github.dynamickafka.metadata

/** A start or stopping position, before it is resolved to an offset. */
private[dynamickafka] sealed trait OffsetsPolicy extends Product with Serializable

private[dynamickafka] object OffsetsPolicy {

  /** Offsets or timestamps by cluster, topic and partition. */
  type ByCluster = Map[String, Map[String, Map[Int, Long]]]

  case object Earliest extends OffsetsPolicy
  case object Latest extends OffsetsPolicy

  /** The committed offset of the consumer group (KIP-88); `fallback` for a partition without one, where None fails. */
  final case class Committed(fallback: Option[OffsetsPolicy]) extends OffsetsPolicy

  /** The first record with this timestamp or a later one, in epoch milliseconds; the latest offset if there is none. */
  final case class Timestamp(epochMs: Long) extends OffsetsPolicy

  /** Like [[Timestamp]], by cluster, topic and partition. */
  final case class TimestampByPartition(byCluster: ByCluster) extends OffsetsPolicy

  /**
   * Offsets by cluster, topic and partition; -2 is earliest and -1 latest, as in Spark's Kafka source. [[AnyCluster]]
   * represents JSON without cluster level, which is valid if the topology has one cluster.
   */
  final case class Exact(byCluster: ByCluster) extends OffsetsPolicy

  /**
   * Where a topic starts after its history.
   *
   * @param offsets by partition
   * @param times the first record with this timestamp or a later one, by partition; the latest offset if there is none
   * @param time the timestamp for all other partitions
   * @param rest for partitions without offset and time
   */
  final case class After(
      offsets: Map[Int, Long],
      times: Map[Int, Long],
      time: Option[Long],
      rest: OffsetsPolicy
  ) extends OffsetsPolicy

  /**
   * What a function of the user returns. Never part of the metadata.
   *
   * @param by identifies stopping offsets that were resolved by it, also after a restart
   * @param id distinguishes functions within this driver
   * @param function returns the function, whose parameters are cluster id, topic and partitions
   */
  final case class Computed(by: String, id: String)(
      val function: () => (String, String, Seq[Int]) => Map[Int, Long]
  ) extends OffsetsPolicy

  val AnyCluster = "*"

  /** The policy, with offsets without cluster level assigned to this cluster. */
  def about(cluster: String, policy: OffsetsPolicy): OffsetsPolicy =
    renamed(policy)(id => if (id == AnyCluster) cluster else id)

  def renamed(policy: OffsetsPolicy)(id: String => String): OffsetsPolicy = {
    def named(all: ByCluster) = all.map { case (before, topics) => id(before) -> topics }
    policy match {
      case Exact(all) => Exact(named(all))
      case TimestampByPartition(all) => TimestampByPartition(named(all))
      case other => other
    }
  }

  val EarliestOffset: Long = -2L
  val LatestOffset: Long = -1L
}

/** Where to continue if a cluster id leads to another Kafka cluster than before. */
private[dynamickafka] sealed trait ReplacedClusterPolicy extends Product with Serializable {

  /** Whether records of the former cluster are looked for in the new one. */
  def continues: Boolean = true
}

private[dynamickafka] object ReplacedClusterPolicy {
  sealed trait GivesUp extends ReplacedClusterPolicy { override def continues: Boolean = false }
  case object Fail extends GivesUp
  case object Earliest extends GivesUp
  case object Latest extends GivesUp

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

/** What to do with the part of a logged batch whose cluster is unreachable when the query is restarted. */
private[dynamickafka] sealed trait UnreachableReplayPolicy extends Product with Serializable

private[dynamickafka] object UnreachableReplayPolicy {
  case object Fail extends UnreachableReplayPolicy

  /** The records are lost. */
  case object Skip extends UnreachableReplayPolicy

  /** The records are read in a later batch. */
  case object Defer extends UnreachableReplayPolicy
}
