package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, Loss, OffsetRange}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterStreams}
import io.github.dynamickafka.topology.ReplacedClusterPolicy

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

  /**
   * Opens the clusters of these ranges, and returns the ranges that can be read.
   *
   * @param end the logged offset, which has the ids of the topics that the ranges are about
   */
  def open(
      ranges: SortedMap[String, Seq[OffsetRange]],
      end: CompositeOffset
  ): SortedMap[String, Seq[OffsetRange]] = {
    val topology = feed.current()
    val known = topology.clusters.keySet.toSet ++ ranges.keySet
    streams.add(ranges.map { case (id, _) =>
      val properties =
        topology.clusters.get(id).orElse(memory.cluster(id)).fold(Map.empty[String, String])(_.properties)
      id -> configs(known)(id, properties)
    })
    // Checked here, because a reader would wait minutes for an unreachable cluster, and its error names no remedy.
    val found = streams.identities(ranges.map { case (id, ofCluster) => id -> ofCluster.map(_.topic).toSet })
    ranges.map { case (id, ofCluster) =>
      id -> (found(id) match {
        case Right(found) => same(id, ofCluster, end.identity(id), found)
        case Left(error) if topology.clusters.contains(id) => throw streams.failure(id, error)
        case Left(_) if options.clusters.skipUnreachableReplay =>
          log.warn(
            "Kafka cluster '{}' is unreachable and 'unreachableReplayPolicy' is 'skip': these records are lost: {}",
            id,
            show(ofCluster)
          )
          Nil
        case Left(error) => throw Errors.unreachableReplay(
            id,
            show(ofCluster),
            streams.explain(id, error),
            streams.safe(id, error)
          )
      })
    }.filter(_._2.nonEmpty)
  }

  /** The ranges of topics that are still those that were logged: other topics have other records at the same offsets. */
  private def same(
      id: String,
      ranges: Seq[OffsetRange],
      logged: ClusterIdentity,
      found: ClusterIdentity
  ): Seq[OffsetRange] =
    if (ClusterIdentity.differ(logged.kafkaId, found.kafkaId)) {
      val (known, now) = (logged.kafkaId.getOrElse(""), found.kafkaId.getOrElse(""))
      if (options.replacedClusters == ReplacedClusterPolicy.Fail) throw Errors.clusterReplaced(id, known, now)
      tellLost(id, s"cluster.id $now instead of $known", ranges)
      Nil
    } else {
      val (recreated, rest) = ranges.partition(r =>
        ClusterIdentity.differ(logged.topics.get(r.topic), found.topics.get(r.topic))
      )
      recreated.groupBy(_.topic).toSeq.sortBy(_._1).foreach { case (topic, of) =>
        val (oldId, newId) = (logged.topics(topic), found.topics(topic))
        if (options.failOnDataLoss) {
          val known = SortedMap.from(of.map(r => r.partition -> r.from))
          throw LossPolicy.error(
            Loss.TopicRecreated(id, topic, oldId, newId, known, streams.ends(id, Set(topic)).of(topic))
          )
        }
        tellLost(id, s"topic id $newId of '$topic' instead of $oldId", of)
      }
      rest
    }

  private def tellLost(id: String, what: String, ranges: Seq[OffsetRange]): Unit =
    log.warn(
      "Kafka cluster '{}' has changed ({}), so records of the batch that was logged are lost: {}",
      id,
      what,
      show(ranges)
    )

  private def show(ranges: Seq[OffsetRange]): String = ranges.mkString(", ")
}
