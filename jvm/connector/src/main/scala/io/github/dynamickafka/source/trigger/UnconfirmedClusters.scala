package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.offset.{NextOffset, Positions, Transition}

/**
 * The clusters about which a trigger would decide something for good that an older response might have wrong: records or
 * topics that are lost, another Kafka cluster, other drain targets. Pure.
 */
private[source] object UnconfirmedClusters {
  def apply(transition: Transition, next: NextOffset): Set[String] = {
    val targets = transition.clusters.collect {
      case (id, work) if work.targets != next.draining.getOrElse(id, Positions.empty) => id
    }
    targets.toSet ++ next.losses.iterator.map(_.cluster) ++ next.replaced.iterator.map(_.cluster) ++
      next.renamed.iterator.map(_.cluster)
  }
}
