package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, Transition}

/** Refuses to read a topic twice through two cluster ids of one Kafka cluster. Pure. */
private[source] object DuplicateClusters {

  /**
   * The topics, (cluster id, name), that yield to the same topic under another id of the same Kafka cluster, because the last answer
   * of the service lacks them: their removal is not confirmed, or they drain. If it has the topic under no id, the one that is
   * read stays.
   */
  def yielding(
      topology: Topology,
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView]
  ): Set[(String, String)] = {
    val found = kafkaIdsOf(views)
    // Known positions are about the Kafka cluster that they were read from.
    def kafkaId(id: String) =
      Option.when(start.position(id).nonEmpty)(start.identity(id).kafkaId).flatten.orElse(found.get(id))
    val all = for {
      (id, work) <- transition.clusters.toSeq
      known <- kafkaId(id).toSeq
      topic <- work.topics
    } yield (known, topic) -> id
    all.groupMap(_._1)(_._2).iterator.filter(_._2.size > 1).flatMap { case ((_, topic), ids) =>
      val named = ids.filter(topology.names(_, topic))
      val stays =
        if (named.nonEmpty) named
        else ids.filter(start.position(_).topics(topic)).headOption.orElse(ids.headOption).toSeq
      ids.diff(stays).map(_ -> topic)
    }.toSet
  }

  /** The topics, of these, that would still be read. */
  def stillYielding(
      topics: Set[(String, String)],
      topology: Topology,
      start: CompositeOffset
  ): Set[(String, String)] = topics.filter { case (id, topic) =>
    !topology.names(id, topic) &&
    (topology.clusters.get(id).exists(_.topics.contains(topic)) || start.position(id).topics(topic))
  }

  /** @throws DynamicKafkaRuntimeException `DUPLICATE_CLUSTER` */
  def refuse(transition: Transition, views: Map[String, ClusterView]): Unit =
    kafkaIdsOf(
      views
    ).toSeq.filter { case (id, _) => transition.clusters.contains(id) }.groupMap(_._2)(_._1).foreach {
      case (kafkaId, ids) =>
        val byTopic =
          ids.sorted.flatMap(id => transition.clusters(id).topics.map(_ -> id)).groupMap(_._1)(_._2)
        byTopic.valuesIterator.find(_.size > 1).foreach { both =>
          val shared =
            byTopic.collect { case (topic, readers) if both.take(2).forall(readers.contains) => topic }
          throw Errors.duplicateCluster(both(0), both(1), kafkaId, shared.toSeq)
        }
    }

  private def kafkaIdsOf(views: Map[String, ClusterView]): Map[String, String] = views.flatMap {
    case (id, view: ClusterView.Reachable) => view.kafkaId.map(id -> _)
    case _ => None
  }
}
