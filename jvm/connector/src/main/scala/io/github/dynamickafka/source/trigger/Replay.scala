package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}

/**
 * Reads a batch again that an earlier run logged but did not complete, including clusters that are no longer in the
 * metadata, and while the metadata service is unavailable.
 */
private[source] final class Replay(
    options: SourceOptions,
    configs: ClusterConfigs.ByScope,
    feed: TopologyFeed,
    streams: ClusterStreams,
    memory: SourceCheckpoint
) {
  private val log = LoggerFactory.getLogger(classOf[Replay])

  /** Opens the clusters of these ranges, and returns the ranges of reachable clusters. */
  def open(ranges: SortedMap[String, Seq[OffsetRange]]): SortedMap[String, Seq[OffsetRange]] = {
    val topology = feed.current()
    val known = topology.clusters.keySet.toSet ++ ranges.keySet
    streams.add(ranges.map { case (id, _) =>
      val properties =
        topology.clusters.get(id).orElse(memory.cluster(id)).fold(Map.empty[String, String])(_.properties)
      id -> configs(known)(id, properties)
    })
    // Checked here, because a reader would wait minutes for an unreachable cluster, and its error names no remedy.
    val answers = streams.answers(ranges.keySet.toSet)
    ranges.filter { case (id, ofCluster) =>
      answers(id) match {
        case Right(_) => true
        case Left(error) if topology.clusters.contains(id) => throw streams.failure(id, error)
        case Left(_) if options.clusters.skipUnreachableReplay =>
          log.warn(
            "Kafka cluster '{}' is unreachable and 'unreachableReplayPolicy' is 'skip': these records are lost: {}",
            id,
            show(ofCluster)
          )
          false
        case Left(error) => throw Errors.unreachableReplay(
            id,
            show(ofCluster),
            streams.explain(id, error),
            streams.safe(id, error)
          )
      }
    }
  }

  private def show(ranges: Seq[OffsetRange]): String = ranges.mkString(", ")
}
