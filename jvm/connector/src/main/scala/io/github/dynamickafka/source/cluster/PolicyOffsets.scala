package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, TimeUnit, TimeoutException}

import scala.collection.mutable

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.config.OffsetsFunctions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.ClusterClient
import io.github.dynamickafka.metadata.OffsetsPolicy

/** Resolves start and stopping positions to offsets, where -1 is the latest and -2 the earliest offset. */
private[source] final class PolicyOffsets(cluster: String, config: ClusterConfig, client: ClusterClient) {
  import Futures.allPresent
  import PolicyOffsets._

  type Offsets = Map[TopicPartition, Long]

  /** The start positions of entering partitions. */
  def entering(
      question: ClusterQuestion,
      answered: Set[TopicPartition],
      functions: FunctionCalls
  ): CompletableFuture[Offsets] = {
    val byPolicy = question.entering.toSeq.groupMap(_._2)(_._1)
    together(byPolicy.toSeq.map { case (policy, topics) =>
      resolve(policy, answered.filter(tp => topics.contains(tp.topic)), functions)
    })
  }

  /**
   * The stopping offsets that are not fixed yet in the topics with these ids. By timestamp, there is none before a record with this timestamp
   * exists.
   */
  def ending(
      question: ClusterQuestion,
      answered: Set[TopicPartition],
      topicIds: Map[String, String],
      functions: FunctionCalls
  ): CompletableFuture[Offsets] = {
    val open = answered.toSeq.flatMap { tp =>
      question.ending.get(tp.topic).filter(!_.fixed.in(topicIds.get(tp.topic)).contains(tp.partition))
        .flatMap(_.policy).map(_ -> tp)
    }
    together(open.groupMap(_._1)(_._2).toSeq.map { case (policy, tps) =>
      if (PolicyOffsets.isByTime(policy))
        resolve(policy, tps.toSet, functions).thenApply[Offsets](_.filter(_._2 != OffsetsPolicy.LatestOffset))
      else resolve(policy, tps.toSet, functions, askedBy = Ending)
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
      functions: FunctionCalls,
      askedBy: String = Starting
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
      case OffsetsPolicy.Committed(fallback) => committed(tps, fallback, functions, askedBy)
      case computed: OffsetsPolicy.Computed =>
        together(tps.groupBy(_.topic).toSeq.map { case (topic, ofTopic) =>
          functions(computed, topic, ofTopic.map(_.partition), askedBy)
        })
      case OffsetsPolicy.After(offsets, times, time, rest) =>
        val exact: Offsets = (for (tp <- tps; o <- offsets.get(tp.partition)) yield tp -> o).toMap
        val timed: Offsets =
          (for (tp <- tps -- exact.keySet; ms <- times.get(tp.partition).orElse(time)) yield tp -> ms).toMap
        resolve(rest, tps -- exact.keySet -- timed.keySet, functions, askedBy)
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
      functions: FunctionCalls,
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
        case Some(policy) => resolve(policy, rest, functions).thenApply[Offsets](found ++ _)
        case None =>
          val names = rest.toSeq.map(_.toString).sorted.mkString(", ")
          CompletableFuture.failedFuture(Errors.invalidOption(
            askedBy,
            "committed",
            s"cluster '$cluster': group '$group' has no committed offset for $names; set 'committedOffsetsFallback' to 'earliest' " +
              "or 'latest', or commit offsets"
          ))
      }
    }
  }
}

private[source] object PolicyOffsets {
  val Starting = "startingOffsets"
  val Ending = "endingOffsets"

  def isComputed(policy: OffsetsPolicy): Boolean = policy match {
    case OffsetsPolicy.After(_, _, _, rest) => isComputed(rest)
    case other => other.isInstanceOf[OffsetsPolicy.Computed]
  }

  def isByTime(policy: OffsetsPolicy): Boolean = policy match {
    case _: OffsetsPolicy.Timestamp | _: OffsetsPolicy.TimestampByPartition => true
    case _ => false
  }
}

/**
 * The calls of functions of the user for one question to a cluster. Another attempt gets what an earlier one has called for, so that
 * a function is called once. A function may wait for something, so it runs on a thread of its own. Thread-safe.
 *
 * @param remainingMs how long a function may take
 */
private[dynamickafka] final class FunctionCalls(cluster: String, remainingMs: () => Long) {
  import FunctionCalls._

  private val calls = mutable.Map.empty[Call, CompletableFuture[Offsets]]

  /** @param askedBy the option */
  def apply(
      policy: OffsetsPolicy.Computed,
      topic: String,
      partitions: Set[Int],
      askedBy: String
  ): CompletableFuture[Offsets] = synchronized {
    calls.getOrElseUpdate(
      Call(policy, topic, partitions, askedBy), {
        val asked = partitions.toSeq.sorted
        val lowest =
          if (askedBy == PolicyOffsets.Ending) OffsetsPolicy.LatestOffset else OffsetsPolicy.EarliestOffset
        CompletableFuture.supplyAsync[Offsets](
          () =>
            OffsetsFunctions.call(policy, cluster, topic, asked, lowest).fold(
              invalid => throw refused(topic, askedBy, invalid),
              _.map { case (p, offset) => new TopicPartition(topic, p) -> offset }
            ),
          ownThread
        ).orTimeout(remainingMs(), TimeUnit.MILLISECONDS).exceptionallyCompose(e =>
          CompletableFuture.failedFuture[Offsets](Futures.cause(e) match {
            case _: TimeoutException =>
              val late = "the function has not returned within 'clusterRequestTimeoutMs'"
              refused(topic, askedBy, OffsetsFunctions.Invalid(asked, late))
            case other => other
          })
        )
      }
    )
  }

  private def refused(topic: String, askedBy: String, invalid: OffsetsFunctions.Invalid) =
    Errors.invalidOffsets(askedBy, cluster, topic, invalid.partitions, invalid.reason, invalid.cause)
}

private[source] object FunctionCalls {
  private type Offsets = Map[TopicPartition, Long]

  private final case class Call(
      policy: OffsetsPolicy,
      topic: String,
      partitions: Set[Int],
      askedBy: String
  )

  private val ownThread = new DaemonThreads("dynamic-kafka-offsets")
}
