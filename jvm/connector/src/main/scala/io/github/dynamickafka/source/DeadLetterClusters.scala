package io.github.dynamickafka.source

import io.github.dynamickafka.config.{Acknowledgements, DeliveryGuarantee, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.options.FormatOptionSpecs
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}
import io.github.dynamickafka.source.read.DeadLetterTargets
import io.github.dynamickafka.topology.Topology

/** The producers of dead letters on the clusters that a batch may read. */
private[source] object DeadLetterClusters {

  def apply(
      topic: String,
      options: SourceOptions,
      topology: Topology,
      streams: ClusterStreams,
      configs: ClusterConfigs.ByScope
  ): DeadLetterTargets = {
    val known = topology.clusters.keySet.toSet
    val configsOfKnown = configs(known)
    val chosen = options.format.deadLetterCluster
    for (id <- chosen if !known(id))
      throw Errors.invalidOption(
        FormatOptionSpecs.DeadLetterCluster.name,
        id,
        s"the cluster is not in the metadata, which has ${known.toSeq.sorted.mkString(", ")}."
      )
    val current = topology.clusters.values.map(c => c.id -> configsOfKnown.producer(c.id, c.properties)).toMap
    // Clusters of a logged batch that are no longer in the metadata.
    val others = (streams.ids -- known).map(id => id -> streams(id).config.producer)
    val all = current ++ others
    // A letter that is lost without a word is what dead letters are to prevent.
    for ((id, settings) <- all if chosen.forall(_ == id))
      Acknowledgements.check(DeliveryGuarantee.AtLeastOnce, id, settings.properties)
    val refused = chosen.map(topology.clusters(_).topics.values)
      .filter(topics => topics.nonEmpty && topics.forall(_.draining))
      .map(_ => "the cluster is draining, and takes no writes")
    DeadLetterTargets(topic, chosen, all.withDefault(unknown), refused)
  }

  private def unknown(cluster: String) = throw Errors.missingOption(
    FormatOptionSpecs.DeadLetterCluster.name,
    s"cluster '$cluster' of a record of a history is not in the metadata. Set the option to the cluster for dead letters."
  )
}
