package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.ReplacedCluster

/** Which Kafka clusters were replaced in a run of a query, oldest first, with monotonic milliseconds. Immutable. */
private[dynamickafka] final case class ReplacedIds(all: Vector[(ReplacedCluster, Long)]) {

  def replaced(cluster: ReplacedCluster, now: Long): ReplacedIds =
    ReplacedIds(recent(now) :+ (cluster -> now))

  /**
   * Whether the query has changed to this Kafka cluster and back to the other one, both a short time ago: a failover and the way
   * back are two changes.
   */
  def alternates(cluster: ReplacedCluster, now: Long): Boolean = {
    def has(known: String, found: String) = recent(now).exists { case (c, _) =>
      c.cluster == cluster.cluster && c.known == known && c.found == found
    }
    has(cluster.known, cluster.found) && has(cluster.found, cluster.known)
  }

  private def recent(now: Long) = all.filter { case (_, at) => now - at < ReplacedIds.ShortMs }
}

private[dynamickafka] object ReplacedIds {
  val none: ReplacedIds = ReplacedIds(Vector.empty)
  private val ShortMs = 600000L
}
