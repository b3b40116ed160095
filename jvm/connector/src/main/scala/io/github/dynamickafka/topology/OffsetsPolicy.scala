package io.github.dynamickafka.topology

/** Where something starts or ends, before Kafka is asked for the offset it means. */
private[dynamickafka] sealed trait OffsetsPolicy extends Product with Serializable

private[dynamickafka] object OffsetsPolicy {

  /** Numbers by cluster, topic and partition. */
  type ByCluster = Map[String, Map[String, Map[Int, Long]]]

  case object Earliest extends OffsetsPolicy
  case object Latest extends OffsetsPolicy

  /** The offset committed by the group of the query (KIP-88); `fallback` where a partition has none: None fails. */
  final case class Committed(fallback: Option[OffsetsPolicy]) extends OffsetsPolicy

  /** First record at or after this time, in epoch milliseconds; the end where there is none. */
  final case class Timestamp(epochMs: Long) extends OffsetsPolicy

  /** As [[Timestamp]], by cluster, topic and partition. */
  final case class TimestampByPartition(byCluster: ByCluster) extends OffsetsPolicy

  /**
   * By cluster, topic and partition; -2 is earliest and -1 latest, as in Spark's own Kafka source. The cluster
   * [[AnyCluster]] stands for a JSON without cluster level, allowed where the topology has one cluster.
   */
  final case class Exact(byCluster: ByCluster) extends OffsetsPolicy

  val AnyCluster = "*"

  /** The same, where what is said without the level of the cluster is about this one. */
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
