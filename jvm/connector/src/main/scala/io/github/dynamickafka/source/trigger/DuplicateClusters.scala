package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{ClusterView, Transition}

/** Refuses to read a topic twice through two cluster ids of one Kafka cluster. Pure. */
private[source] object DuplicateClusters {

  /** @throws DynamicKafkaRuntimeException `DUPLICATE_CLUSTER` */
  def refuse(transition: Transition, views: Map[String, ClusterView]): Unit = {
    val kafkaIds = transition.clusters.keySet.toSeq.flatMap { id =>
      views.get(id).collect { case view: ClusterView.Reachable => view.kafkaId }.flatten.map(id -> _)
    }
    kafkaIds.groupMap(_._2)(_._1).foreach { case (kafkaId, ids) =>
      val byTopic = ids.sorted.flatMap(id => transition.clusters(id).topics.map(_ -> id)).groupMap(_._1)(_._2)
      byTopic.valuesIterator.find(_.size > 1).foreach { both =>
        val shared = byTopic.collect { case (topic, of) if both.take(2).forall(of.contains) => topic }
        throw Errors.duplicateCluster(both(0), both(1), kafkaId, shared.toSeq)
      }
    }
  }
}
