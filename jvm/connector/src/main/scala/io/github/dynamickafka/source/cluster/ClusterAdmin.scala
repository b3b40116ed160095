package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, CompletionException, TimeUnit, TimeoutException}

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * Requests the offsets of one cluster with one client. Never blocks: results are futures, so that one thread can send
 * requests to many clusters at once, and an interrupt ends the wait.
 *
 * Spark's Kafka source is not used for the latest offsets: it takes four to five round trips instead of two, fails on a
 * deleted topic regardless of `failOnDataLoss`, and waits and retries inside the call.
 */
private[dynamickafka] final class ClusterAdmin(
    cluster: String,
    config: ClusterConfig,
    client: ClusterClient,
    clock: Clock
) {
  import ClusterAdmin._
  import Futures.{allPresent, then2}

  private type Offsets = Map[TopicPartition, Long]

  private val policies = new PolicyOffsets(cluster, config, client)
  private val listings = new PartitionListings(config, client, clock)
  @volatile private var last: Option[Last] = None
  @volatile private var committing: CompletableFuture[Unit] = CompletableFuture.completedFuture(())

  /** The cheapest request to find out whether the cluster is reachable. */
  def kafkaClusterId: CompletableFuture[String] = client.clusterId

  def topics: CompletableFuture[Set[String]] = client.topics

  /** The topic ids (KIP-516) of these topics, without topics that do not exist. */
  def topicIds(topics: Set[String]): CompletableFuture[Map[String, String]] =
    allPresent(client.describe(topics)).thenApply[Map[String, String]](_.collect {
      case (topic, TopicAnswer(_, Some(id))) => topic -> id
    })

  /**
   * A partition without a leader, or whose leader does not respond, is `unanswered`; the response contains all others.
   *
   * @param silent partitions not to ask as long as they have the same leader
   * @param functions the calls of functions of the user, by all attempts
   */
  def ask(
      question: ClusterQuestion,
      silent: Map[TopicPartition, SilentLeader],
      patience: Patience,
      functions: FunctionCalls
  ): CompletableFuture[ClusterAnswer] =
    listings(question, silent, patience).thenCompose[ClusterAnswer] { listed =>
      last.filter(l => question.ahead && l.isOf(question, listed)).fold {
        answer(question, listed, patience, functions).thenApply[ClusterAnswer] { answer =>
          last = Some(Last(question, listed, answer))
          answer
        }
      }(same => CompletableFuture.completedFuture(same.answer))
    }

  private def answer(
      question: ClusterQuestion,
      listed: PartitionListings.Listed,
      patience: Patience,
      functions: FunctionCalls
  ): CompletableFuture[ClusterAnswer] = {
    val answered = listed.answered
    // Requested after the latest offsets, so that a position that is the latest offset is consistent with them.
    val offsets =
      then2(
        policies.entering(question, answered, functions),
        policies.ending(question, answered, listed.ids, functions)
      )((_, _))
    // A function of the user has the time of all attempts, because another one would not call it again.
    val resolved =
      if (question.isComputed) offsets else offsets.orTimeout(patience.attemptMs, TimeUnit.MILLISECONDS)
    resolved.thenCompose[ClusterAnswer] { case (entering, ending) =>
      val starts = entering.map { case (tp, o) => tp -> start(question, listed, tp, o) }
      val known = question.known.iterator.map { case (topic, p, o) => new TopicPartition(topic, p) -> o }
      settled(listed, known.toMap ++ starts).orTimeout(patience.attemptMs, TimeUnit.MILLISECONDS)
        .thenApply[ClusterAnswer](ends => answer(question, listed.copy(ends = ends), starts, ending))
    }
  }

  private def answer(
      question: ClusterQuestion,
      listed: PartitionListings.Listed,
      starts: Offsets,
      ending: Offsets
  ): ClusterAnswer = {
    val vanished =
      listed.answered.filter(tp => !listed.ends.contains(tp) || !listed.earliest.contains(tp)).map(_.topic)
    val here = (tp: TopicPartition) => listed.answered(tp) && !vanished(tp.topic)
    ClusterAnswer(
      ClusterView.Reachable(
        ends = positions(listed.ends.map { case (tp, end) => tp -> end.offset }, here),
        earliest = positions(listed.earliest, here),
        entering = positions(starts, here),
        missing = (question.topics -- listed.present.map(_.topic)) ++ vanished,
        endings = positions(ending.map { case (tp, o) => tp -> at(listed, tp, o) }, here),
        unanswered = listed.unanswered.collect {
          case (tp, reason) if !vanished(tp.topic) => (tp.topic, tp.partition) -> reason
        },
        topicIds = listed.ids,
        epochs = positions(listed.ends.flatMap { case (tp, end) => end.epoch.map(tp -> _) }, here)
      ),
      listed.silent
    )
  }

  /**
   * The start position of a partition. Only offsets that the user set can be out of range: the records of a time may
   * have expired since it was looked up.
   */
  private def start(
      question: ClusterQuestion,
      listed: PartitionListings.Listed,
      tp: TopicPartition,
      offset: Long
  ): Long =
    if (question.entering.get(tp.topic).exists(PolicyOffsets.isByTime))
      math.max(at(listed, tp, offset), listed.earliest.getOrElse(tp, 0L))
    else at(listed, tp, offset)

  private def at(listed: PartitionListings.Listed, tp: TopicPartition, offset: Long): Long = offset match {
    case OffsetsPolicy.LatestOffset => listed.ends.get(tp).fold(0L)(_.offset)
    case OffsetsPolicy.EarliestOffset => listed.earliest.getOrElse(tp, 0L)
    case exact => exact
  }

  /**
   * The latest offsets, requested again where a position is beyond: records may have arrived since, or the position is
   * one of `read_uncommitted` beyond the last stable offset. A position up to the end of the log is valid.
   *
   * The leader epoch is that of the response that the offset is from: a later leader may have another log.
   */
  private def settled(
      listed: PartitionListings.Listed,
      positions: Offsets
  ): CompletableFuture[Map[TopicPartition, ListedOffset]] = {
    val beyond = positions.filter { case (tp, at) => listed.ends.get(tp).exists(_.offset < at) }
    if (beyond.isEmpty) CompletableFuture.completedFuture(listed.ends)
    else {
      val latest = beyond.map { case (tp, _) => tp -> OffsetSpec.latest }
      val readable = allPresent(client.offsets(latest, config.isolation))
      val log =
        if (config.isolation == IsolationLevel.READ_UNCOMMITTED) readable
        else allPresent(client.offsets(latest, IsolationLevel.READ_UNCOMMITTED))
      then2(readable, log) { (readable, log) =>
        listed.ends ++ beyond.map { case (tp, at) =>
          val end = readable.getOrElse(tp, listed.ends(tp))
          tp -> log.get(tp).filter(logEnd => end.offset < at && logEnd.offset >= at).fold(end)(_.copy(offset =
            at
          ))
        }
      }
    }
  }

  /**
   * The first record of each of these times or later. A partition that does not exist, or does not respond in time, is absent;
   * fails if none responds.
   */
  def times(asked: Map[TopicPartition, Long]): CompletableFuture[Map[TopicPartition, ListedOffset]] = {
    val specs = asked.map { case (tp, ms) => tp -> OffsetSpec.forTimestamp(ms) }
    val late: Option[ListedOffset] = None
    // An incomplete response has to arrive before the timeout of the cluster.
    val limitMs = config.attemptMs - config.attemptMs / 10
    val answers = client.offsets(specs, config.isolation).map { case (tp, answer) =>
      tp -> answer.thenApply[Option[ListedOffset]](Some(_))
        .completeOnTimeout(late, limitMs, TimeUnit.MILLISECONDS)
    }
    allPresent(answers).thenApply[Map[TopicPartition, ListedOffset]] { found =>
      if (found.nonEmpty && found.valuesIterator.forall(_.isEmpty))
        throw new CompletionException(new TimeoutException(s"no response within $limitMs ms"))
      found.collect { case (tp, Some(listed)) => tp -> listed }
    }
  }

  private def positions(offsets: Offsets, keep: TopicPartition => Boolean): Positions =
    Positions(offsets.toSeq.filter { case (tp, _) => keep(tp) }.groupBy(_._1.topic).map {
      case (topic, entries) =>
        topic -> SortedMap.from(entries.map { case (tp, offset) => tp.partition -> offset })
    })

  /** Commits offsets to a consumer group. Partitions that do not exist are omitted. */
  def commit(group: String, positions: Positions): CompletableFuture[Unit] = {
    val offsets = positions.iterator.map { case (topic, p, at) => new TopicPartition(topic, p) -> at }.toMap
    committing = allPresent(client.commit(group, offsets)).thenApply[Unit](_ => ())
    committing
  }

  /** Later connections use another client. */
  def abandon(): Unit = client.abandon()

  /** Closes when no commit is pending. */
  def retire(): Unit = {
    val _ = committing.whenComplete((_, _) => close())
  }

  /** Does not wait for pending requests. */
  def close(): Unit = client.close()
}

private object ClusterAdmin {

  /** A response, and what it was made of. */
  private final case class Last(
      question: ClusterQuestion,
      listed: PartitionListings.Listed,
      answer: ClusterAnswer
  ) {

    /** Whether it is the response to this question as well: nothing has to be resolved, and the same was listed. */
    def isOf(other: ClusterQuestion, found: PartitionListings.Listed): Boolean =
      (listed eq found) && (question.known eq other.known) && question.topics == other.topics &&
        question.only == other.only && other.entering.isEmpty && other.ending.isEmpty
  }
}
