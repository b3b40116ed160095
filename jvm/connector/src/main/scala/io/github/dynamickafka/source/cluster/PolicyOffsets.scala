package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.source.client.ClusterClient
import io.github.dynamickafka.topology.OffsetsPolicy

/** Resolves start and stopping positions to offsets, where -1 is the latest and -2 the earliest offset. */
private[source] final class PolicyOffsets(cluster: String, config: ClusterConfig, client: ClusterClient) {
  import Futures.allPresent

  type Offsets = Map[TopicPartition, Long]

  /** The start positions of entering partitions. */
  def entering(question: ClusterQuestion, answered: Set[TopicPartition]): CompletableFuture[Offsets] = {
    val byPolicy = question.entering.toSeq.groupMap(_._2)(_._1)
    together(byPolicy.toSeq.map { case (policy, topics) =>
      resolve(policy, answered.filter(tp => topics.contains(tp.topic)))
    })
  }

  /**
   * The stopping offsets that are not fixed yet. By timestamp, there is none before a record with this timestamp
   * exists.
   */
  def ending(question: ClusterQuestion, answered: Set[TopicPartition]): CompletableFuture[Offsets] = {
    val open = answered.toSeq.flatMap { tp =>
      question.ending.get(tp.topic).filter(!_.fixed.contains(tp.partition)).flatMap(_.policy).map(_ -> tp)
    }
    together(open.groupMap(_._1)(_._2).toSeq.map { case (policy, tps) =>
      if (PolicyOffsets.isByTime(policy))
        resolve(policy, tps.toSet).thenApply[Offsets](_.filter(_._2 != OffsetsPolicy.LatestOffset))
      else resolve(policy, tps.toSet, askedBy = "endingOffsets")
    })
  }

  private def together(parts: Seq[CompletableFuture[Offsets]]): CompletableFuture[Offsets] =
    CompletableFuture.allOf(parts: _*).thenApply[Offsets](_ =>
      parts.foldLeft(Map.empty: Offsets)(_ ++ _.join())
    )

  /** @param askedBy the option, for the error message */
  private def resolve(
      policy: OffsetsPolicy,
      tps: Set[TopicPartition],
      askedBy: String = "startingOffsets"
  ): CompletableFuture[Offsets] = {
    def everywhere(offset: Long) =
      CompletableFuture.completedFuture(tps.iterator.map(_ -> offset).toMap: Offsets)
    def named(byCluster: OffsetsPolicy.ByCluster): Offsets = {
      val byTopic =
        byCluster.get(cluster).orElse(byCluster.get(OffsetsPolicy.AnyCluster)).getOrElse(Map.empty)
      (for (tp <- tps; o <- byTopic.get(tp.topic).flatMap(_.get(tp.partition))) yield tp -> o).toMap
    }
    policy match {
      case _ if tps.isEmpty => everywhere(0L)
      case OffsetsPolicy.Earliest => everywhere(OffsetsPolicy.EarliestOffset)
      case OffsetsPolicy.Latest => everywhere(OffsetsPolicy.LatestOffset)
      case OffsetsPolicy.Timestamp(epochMs) => byTime(tps.iterator.map(_ -> epochMs).toMap)
      case OffsetsPolicy.TimestampByPartition(byCluster) => byTime(named(byCluster))
      case OffsetsPolicy.Exact(byCluster) => CompletableFuture.completedFuture(named(byCluster))
      case OffsetsPolicy.Committed(fallback) => committed(tps, fallback, askedBy)
      case OffsetsPolicy.After(offsets, times, time, rest) =>
        val exact: Offsets = (for (tp <- tps; o <- offsets.get(tp.partition)) yield tp -> o).toMap
        val timed: Offsets =
          (for (tp <- tps -- exact.keySet; ms <- times.get(tp.partition).orElse(time)) yield tp -> ms).toMap
        resolve(rest, tps -- exact.keySet -- timed.keySet, askedBy)
          .thenCombine[Offsets, Offsets](byTime(timed), (others, later) => exact ++ later ++ others)
    }
  }

  /** Kafka returns -1, which means latest here, if no record has this timestamp or a later one. */
  private def byTime(times: Offsets): CompletableFuture[Offsets] =
    if (times.isEmpty) CompletableFuture.completedFuture(Map.empty)
    else
      allPresent(client.offsets(
        times.map { case (tp, ms) => tp -> OffsetSpec.forTimestamp(ms) },
        config.isolation
      )).thenApply[Offsets](_.map { case (tp, found) => tp -> found.offset })

  private def committed(
      tps: Set[TopicPartition],
      fallback: Option[OffsetsPolicy],
      askedBy: String
  ): CompletableFuture[Offsets] = {
    val group = config.committedGroup.getOrElse(
      throw new IllegalStateException("committed offsets without a group")
    )
    client.committed(group).thenCompose { all =>
      val found: Offsets = all.filter { case (tp, _) => tps(tp) }
      val rest = tps -- found.keySet
      if (rest.isEmpty) CompletableFuture.completedFuture(found)
      else fallback match {
        case Some(policy) => resolve(policy, rest).thenApply[Offsets](found ++ _)
        case None =>
          val names = rest.toSeq.map(_.toString).sorted.mkString(", ")
          CompletableFuture.failedFuture(new NoCommittedOffset(askedBy, group, names))
      }
    }
  }
}

private[source] object PolicyOffsets {
  def isByTime(policy: OffsetsPolicy): Boolean = policy match {
    case _: OffsetsPolicy.Timestamp | _: OffsetsPolicy.TimestampByPartition => true
    case _ => false
  }
}

/** A partition has no committed offset, and no fallback is set. */
private[source] final class NoCommittedOffset(val option: String, group: String, partitions: String)
    extends RuntimeException(s"group '$group' has no committed offset for $partitions")
