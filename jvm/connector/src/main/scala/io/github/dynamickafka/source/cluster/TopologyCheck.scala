package io.github.dynamickafka.source.cluster

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.option.{ClusterKeys, OptionName, Suggestions}
import io.github.dynamickafka.topology.Topology

/**
 * Checks each topology of the metadata service against the options of the query. A topology that the query cannot use
 * counts as a failure of the service. Used by the thread that polls.
 */
private[source] final class TopologyCheck(options: SourceOptions) extends (Topology => Unit) {
  private val log = LoggerFactory.getLogger(classOf[TopologyCheck])
  private var passed: Option[Topology] = None

  /** @throws DynamicKafkaIllegalArgumentException METADATA_INVALID */
  override def apply(topology: Topology): Unit =
    if (!passed.contains(topology)) {
      val ids = topology.clusters.keySet ++ topology.removals.keySet
      val configs = ClusterConfigs(options, ids.toSet)
      configs.checkGroups(topology)
      val before = passed.map(p => p.clusters.keySet ++ p.removals.keySet)
      if (!before.contains(ids)) warn(configs.unmatched, ids.toSet)
      passed = Some(topology)
    }

  private def warn(unmatched: Seq[String], ids: Set[String]): Unit =
    if (unmatched.nonEmpty) {
      val named = unmatched.map { option =>
        val id = ClusterKeys.probableId(option.stripPrefix(OptionName.Cluster), options.clusters.table)
        option + Suggestions.closest(id, ids).fold("")(known => s" (did you mean cluster '$known'?)")
      }
      log.warn(
        "These options have no effect, because the metadata has no such cluster: {}; its clusters are: {}",
        named.mkString(", "),
        ids.toSeq.sorted.mkString(", ")
      )
    }
}
