package io.github.dynamickafka.topology

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
   * @param time the same for all other partitions
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
   * @param function gets it; its parameters are cluster id, topic and partitions
   */
  final case class Computed(by: String, id: String)(
      val function: () => (String, String, Seq[Int]) => Map[Int, Long]
  ) extends OffsetsPolicy

  val AnyCluster = "*"

  /** The same policy, with offsets without cluster level assigned to this cluster. */
  def about(cluster: String, policy: OffsetsPolicy): OffsetsPolicy = {
    def named(all: ByCluster) = all.map { case (id, topics) =>
      (if (id == AnyCluster) cluster else id) -> topics
    }
    policy match {
      case Exact(all) => Exact(named(all))
      case TimestampByPartition(all) => TimestampByPartition(named(all))
      case other => other
    }
  }
  val EarliestOffset: Long = -2L
  val LatestOffset: Long = -1L
}
