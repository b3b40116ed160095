package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.metadata.{Topology, TopologyCluster}
import io.github.dynamickafka.offset.{CompositeOffset, FormerCluster, Retained}

/**
 * Clusters that take the place of others by `replaces` in the metadata. Pure.
 *
 * @param former the id of the cluster that is replaced, by the id of the one that enters now
 * @param start the positions of the query: a cluster that enters retains those of the one that it replaces, until they continue
 * @param topology without topics of clusters that have to wait, because the one that they replace is still read
 * @param waiting these clusters, with the id of the one that they replace
 */
private[dynamickafka] final case class ReplacingClusters(
    former: Map[String, String],
    start: CompositeOffset,
    topology: Topology,
    waiting: Map[String, String] = Map.empty
)

private[dynamickafka] object ReplacingClusters {

  /**
   * @param drainRemoved whether clusters that leave the topology are drained first
   * @param now epoch milliseconds
   */
  def apply(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean,
      now: Long
  ): ReplacingClusters = {
    val former = for {
      (id, cluster) <- topology.clusters.toMap
      other <- cluster.replaces
      if start.position(id).isEmpty && knowsMore(start, topology, other, start.retained.get(id))
    } yield id -> other
    if (former.isEmpty) ReplacingClusters(former, start, topology)
    else {
      val (waiting, entering) = former.partition { case (id, other) =>
        val by = topology.clusters(id)
        // The other one enters first.
        (former.contains(other) && streamsOf(topology.clusters(other)).exists(streamsOf(by))) ||
        isRead(start, topology, by, other, drainRemoved)
      }
      val left = entering.map { case (_, other) => other -> leaving(start, topology, other, now) }
      ReplacingClusters(
        entering,
        if (entering.isEmpty) start
        else
          // Another Kafka cluster may have the id now, and it is the other one that it is compared with.
          start.copy(
            retained = start.retained ++ left.map { case (other, positions) =>
              other -> replaced(start, other, positions)
            } ++ entering.map { case (id, other) => id -> taken(start, id, other, left(other)) },
            identities = start.identities -- entering.keys
          ),
        if (waiting.isEmpty) topology
        else
          topology.copy(clusters = topology.clusters.map { case (id, cluster) =>
            id -> (if (waiting.contains(id)) cluster.withoutTopics else cluster)
          }),
        waiting
      )
    }
  }

  /** The positions of a cluster that is replaced, with those that leave now. */
  private def leaving(start: CompositeOffset, topology: Topology, id: String, now: Long): Retained = {
    val stays = topology.clusters.get(id)
    val left = start.position(id).filterTopics(topic =>
      !stays.exists(c => c.topics.contains(topic) || c.patterns.exists(_.matches(topic)))
    )
    val identity = start.identity(id)
    start.retained.getOrElse(id, Retained.empty) ++
      Retained.at(now, left, ids = identity.topics.get, epochs = identity.epochs)
  }

  /** What is replaced is not drained again, also where the metadata lack the cluster that has taken its place. */
  private def replaced(start: CompositeOffset, id: String, left: Retained): Retained = {
    val kept = start.retained.getOrElse(id, Retained.empty)
    kept.copy(drained = kept.drained ++ left.topics.keySet)
  }

  /** The positions that a cluster takes over: the newest ones of each topic, its own or those of the other cluster. */
  private def taken(start: CompositeOffset, id: String, other: String, left: Retained): Retained = {
    def of(id: String, retained: Retained) =
      retained.of(FormerCluster(id, start.identity(id).kafkaId)).topics
    val own = start.retained.getOrElse(id, Retained.empty)
    val others = of(other, left)
    Retained(
      others ++ of(id, own).filter { case (topic, kept) => others.get(topic).forall(_.since < kept.since) },
      past = own.past
    )
  }

  /**
   * Whether a topic of a cluster was read later than the same topic of the one that is to take its place, or only there. Each topic
   * counts, because topics drain one by one. A cluster that was never read may itself be to take the place of another one.
   *
   * @param own what the cluster that is to take the place retains
   */
  private def knowsMore(
      start: CompositeOffset,
      topology: Topology,
      id: String,
      own: Option[Retained]
  ): Boolean =
    start.position(id).nonEmpty ||
      start.retained.get(id).exists(_.topics.exists { case (topic, kept) =>
        own.flatMap(_.topics.get(topic)).forall(_.since < kept.since)
      }) ||
      topology.clusters.get(id).flatMap(_.replaces).exists(
        knowsMore(start, topology.copy(clusters = topology.clusters - id), _, own)
      )

  /** Whether a cluster that is replaced is read further in the same streams: it drains, or its removal is not confirmed. */
  private def isRead(
      start: CompositeOffset,
      topology: Topology,
      by: TopologyCluster,
      id: String,
      drainRemoved: Boolean
  ): Boolean = {
    val streams = streamsOf(by)
    val named = topology.clusters.get(id).fold(Map.empty[String, String])(_.topics.map { case (topic, of) =>
      topic -> of.stream
    }.toMap)
    // What was removed and is named again returns.
    val back = start.retained.get(id).fold(Set.empty[String])(kept =>
      kept.topics.keySet.toSet.intersect(named.keySet) -- kept.drained
    )
    (start.position(id).topics ++ back).exists { topic =>
      named.get(topic).fold(drainRemoved && !topology.removes(id, topic))(streams)
    }
  }

  private def streamsOf(cluster: TopologyCluster): Set[String] =
    cluster.topics.valuesIterator.map(_.stream).toSet ++ cluster.patterns.map(_.topic.stream)
}
