package io.github.dynamickafka.source.cluster

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.option.{ClusterKeys, Misspelling, OptionName, Suggestions}

/**
 * Checks each topology of the metadata service against the options of the query. A topology that the query cannot use
 * counts as a failure of the service. Used by the thread that polls.
 */
private[source] final class TopologyCheck(options: SourceOptions) extends (Topology => Unit) {
  import TopologyCheck._

  private val log = LoggerFactory.getLogger(classOf[TopologyCheck])
  private var passed: Option[Topology] = None

  /** @throws DynamicKafkaIllegalArgumentException METADATA_INVALID */
  override def apply(topology: Topology): Unit =
    if (!passed.contains(topology)) {
      val ids = idsOf(topology)
      val configs = ClusterConfigs(options, ids)
      configs.checkGroups(topology)
      if (!passed.map(idsOf).contains(ids)) warn(configs.unmatched, ids)
      passed = Some(topology)
    }

  private def warn(unmatched: Seq[String], ids: Set[String]): Unit =
    if (unmatched.nonEmpty) {
      val named = unmatched.map { option =>
        val id = idIn(option, options)
        option + Suggestions.closest(id, ids).fold("")(known => s" (did you mean cluster '$known'?)")
      }
      log.warn(
        "These options have no effect, because the metadata has no such cluster: {}; its clusters are: {}",
        named.mkString(", "),
        ids.toSeq.sorted.mkString(", ")
      )
    }
}

private[source] object TopologyCheck {

  /** @throws DynamicKafkaIllegalArgumentException UNKNOWN_CLUSTER, if an option has the id of a cluster with a typing error */
  def refuseMisspelled(options: SourceOptions, topology: Topology): Unit = {
    val ids = idsOf(topology)
    ClusterConfigs(options, ids).unmatched.foreach { option =>
      val id = idIn(option, options)
      Misspelling.of(id, ids).foreach(known =>
        throw Errors.unknownCluster(option, id, known, ids.toSeq.sorted)
      )
    }
  }

  private def idsOf(topology: Topology): Set[String] =
    (topology.clusters.keySet ++ topology.removals.keySet).toSet

  private def idIn(option: String, options: SourceOptions): String =
    ClusterKeys.probableId(option.stripPrefix(OptionName.Cluster), options.clusters.table)
}
