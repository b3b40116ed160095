package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.topology.OffsetsPolicy

/** Offsets of one cluster, as an option of the cluster specifies them. */
private[dynamickafka] object ClusterOffsets {

  /** JSON without cluster level applies to the cluster; JSON for another cluster is an error. */
  def apply(clusterId: String, policy: OffsetsPolicy, writtenAs: String): OffsetsPolicy = {
    def own(byCluster: OffsetsPolicy.ByCluster) = {
      byCluster.keys.find(id => id != clusterId && id != OffsetsPolicy.AnyCluster).foreach { other =>
        throw Errors.invalidOption(
          writtenAs,
          other,
          s"the JSON may only contain offsets of cluster '$clusterId'."
        )
      }
      byCluster.map { case (_, topics) => clusterId -> topics }
    }
    policy match {
      case OffsetsPolicy.Exact(byCluster) => OffsetsPolicy.Exact(own(byCluster))
      case OffsetsPolicy.TimestampByPartition(byCluster) => OffsetsPolicy.TimestampByPartition(own(byCluster))
      case other => other
    }
  }
}
