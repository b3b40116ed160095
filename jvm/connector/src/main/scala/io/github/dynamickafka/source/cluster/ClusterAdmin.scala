package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, CompletionException, TimeUnit, TimeoutException}
import java.{util => ju}

import scala.collection.concurrent.TrieMap
import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.errors.{
  RetriableException,
  TopicAuthorizationException,
  UnknownTopicOrPartitionException
}
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.{ClusterClient, ListedOffset, TopicAnswer}
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterIdentity, ClusterView, Ending, Positions}

/**
 * The request of a trigger to one cluster.
 *
 * @param topics all topics to read
 * @param known partitions that are already read: their offsets are requested without waiting for the description of the
 *              topics, which saves a round trip
 * @param entering topics without a position, with their start positions
 * @param ending topics with a stopping position; stopping offsets that are already fixed are not requested again
 * @param only topics of which only some partitions are read, with these partitions
 * @param complete whether to wait for each partition as long as for the cluster, because no later trigger asks again
 * @param when when the response is requested
 */
private[dynamickafka] final case class ClusterQuestion(
    topics: Set[String],
    known: Positions,
    entering: Map[String, OffsetsPolicy],
    ending: Map[String, Ending] = Map.empty,
    only: Map[String, Set[Int]] = Map.empty,
    complete: Boolean = false,
    when: ClusterQuestion.When = ClusterQuestion.InTrigger
) {
  def isAhead: Boolean = when == ClusterQuestion.Ahead
  def isAfterwards: Boolean = when == ClusterQuestion.Afterwards

  /** Whether functions of the user have to be called. */
  def isComputed: Boolean =
    (entering.valuesIterator ++ ending.valuesIterator.flatMap(_.policy)).exists(PolicyOffsets.isComputed)

  /**
   * Whether it can be asked ahead of the triggers: its response decides about the next batch only. Stopping positions other than times can
   * be the latest offset of this moment.
   */
  def isSteady: Boolean =
    !complete && !isAfterwards && ending.valuesIterator.forall(_.policy.forall(PolicyOffsets.isByTime))

  /**
   * Whether a response that was requested before decides nothing for good. Start positions can be the latest offset of this moment, but a
   * topic that does not exist has none.
   */
  def isSettledBy(answer: ClusterView.Reachable): Boolean = entering.keySet.subsetOf(answer.missing)

  /** Whether a response to this question is one to the other. */
  def isSame(other: ClusterQuestion): Boolean =
    topics == other.topics && only == other.only && ending == other.ending

  /** Whether there is something to read. */
  def hasNews(answer: ClusterView.Reachable): Boolean =
    answer.ends.iterator.exists { case (topic, p, end) => known.get(topic, p).forall(_ < end) }
}

private[dynamickafka] object ClusterQuestion {
  sealed trait When extends Product with Serializable

  /** No trigger waits for the response: it may contain earliest offsets of some seconds ago. */
  case object Ahead extends When

  /** The trigger waits for it, and may use one that was requested before. */
  case object InTrigger extends When

  /** The response must be requested after the question came up: what depends on it is decided for good. */
  case object Afterwards extends When
}

/**
 * The response of one cluster.
 *
 * @param silent the partitions whose leaders did not respond; those of `view.unanswered` without a leader are not in it
 */
private[dynamickafka] final case class ClusterAnswer(
    view: ClusterView.Reachable,
    silent: Map[TopicPartition, Unanswered]
)

/**
 * Why a partition has no answer.
 *
 * @param node the leader that did not respond; None: there is none
 */
private[dynamickafka] final case class Unanswered(node: Option[Int], reason: String)

/** A partition has another leader than the one that was asked: clients wait for the former one (KAFKA-20673). */
private[source] final class LeaderMoved(partitions: Set[TopicPartition])
    extends RuntimeException(
      s"the leader has changed: ${partitions.toSeq.map(_.toString).sorted.mkString(", ")}"
    )

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
    val client: ClusterClient,
    clock: Clock
) {
  import ClusterAdmin._
  import Futures.allPresent

  private type Offsets = Map[TopicPartition, Long]

  private val policies = new PolicyOffsets(cluster, config, client)
  private val listings = new PartitionListings(config, client, clock)
  @volatile private var last: Option[Last] = None
  @volatile private var committing: CompletableFuture[Unit] = CompletableFuture.completedFuture(())
  @volatile private var id: Option[CompletableFuture[String]] = None

  /** The `cluster.id` of Kafka. Requested once; a failure is not kept. */
  def kafkaId: CompletableFuture[String] = id.filterNot(_.isCompletedExceptionally).getOrElse(kafkaIdNow)

  def kafkaIdNow: CompletableFuture[String] = {
    val answer = client.clusterId
    id = Some(answer)
    answer
  }

  /** The topic ids (KIP-516) of these topics, without topics that do not exist. */
  def topicIds(topics: Set[String]): CompletableFuture[Map[String, String]] =
    allPresent(client.describe(topics)).thenApply[Map[String, String]](_.collect {
      case (topic, TopicAnswer(_, Some(id))) => topic -> id
    })

  /**
   * A partition without a leader, or whose leader does not respond, is `unanswered`; the response contains all others.
   *
   * @param silent partitions not to ask as long as they have the same leader
   * @param until when an incomplete response is used, in monotonic milliseconds
   * @param functions the calls of functions of the user, by all attempts
   */
  def ask(
      question: ClusterQuestion,
      silent: Map[TopicPartition, Unanswered],
      until: Long,
      functions: FunctionCalls
  ): CompletableFuture[ClusterAnswer] =
    listings(question, silent, until).thenCompose[ClusterAnswer] { listed =>
      last.filter(l => question.isAhead && l.isOf(question, listed)).fold {
        answer(question, listed, functions).thenApply[ClusterAnswer] { answer =>
          last = Some(Last(question, listed, answer))
          answer
        }
      }(same => CompletableFuture.completedFuture(same.answer))
    }

  private def answer(
      question: ClusterQuestion,
      listed: PartitionListings.Listed,
      functions: FunctionCalls
  ): CompletableFuture[ClusterAnswer] = {
    val answered = listed.answered
    // Requested after the latest offsets, so that a position that is the latest offset is consistent with them.
    val offsets = policies.entering(question, answered, functions).thenCombine[Offsets, (Offsets, Offsets)](
      policies.ending(question, answered, listed.ids, functions),
      (_, _)
    )
    // A function of the user has the time of all attempts, because another one would not call it again.
    val resolved =
      if (question.isComputed) offsets else offsets.orTimeout(config.attemptMs, TimeUnit.MILLISECONDS)
    resolved.thenCompose[ClusterAnswer] { case (entering, ending) =>
      val starts = entering.map { case (tp, o) => tp -> start(question, listed, tp, o) }
      val known = question.known.iterator.map { case (topic, p, o) => new TopicPartition(topic, p) -> o }
      settled(listed, known.toMap ++ starts).orTimeout(config.attemptMs, TimeUnit.MILLISECONDS)
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
          case (tp, why) if !vanished(tp.topic) => (tp.topic, tp.partition) -> why.reason
        },
        identity = ClusterIdentity(
          topics = SortedMap.from(listed.ids),
          epochs = positions(listed.ends.flatMap { case (tp, end) => end.epoch.map(tp -> _) }, here)
        )
      ),
      listed.unanswered.filter(_._2.node.isDefined)
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
      readable.thenCombine[Map[TopicPartition, ListedOffset], Map[TopicPartition, ListedOffset]](
        log,
        (readable, log) =>
          listed.ends ++ beyond.map { case (tp, at) =>
            val end = readable.getOrElse(tp, listed.ends(tp))
            tp -> log.get(tp).filter(logEnd => end.offset < at && logEnd.offset >= at)
              .fold(end)(_.copy(offset = at))
          }
      )
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

  /** Closes when no commit is pending. */
  def retire(): Unit = {
    val _ = committing.whenComplete((_, _) => client.close())
  }
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

/**
 * Lists the latest and the earliest offsets of the partitions of one cluster. While listings are pending, the topics
 * are described again at intervals: the listing of a topic that was deleted meanwhile never completes, nor does that of
 * a partition whose leader is gone, even if it has a new one.
 */
private[source] final class PartitionListings(config: ClusterConfig, client: ClusterClient, clock: Clock) {
  import Futures.{allPresent, pause}
  import PartitionListings._

  // The client would retry to list these until its timeout. For those that have no leader it is the same.
  @volatile private var unlistable = Set.empty[TopicPartition]
  // The leaders that responded to this client.
  @volatile private var responsive = Map.empty[TopicPartition, Int]
  // What questions that are asked ahead do not ask again: only retention moves it, and tasks notice that too.
  private val recent = TrieMap.empty[TopicPartition, Earliest]
  // The last complete response, and whether the one before had the same latest offsets.
  @volatile private var last: Option[Last] = None

  def apply(
      question: ClusterQuestion,
      silent: Map[TopicPartition, Unanswered],
      until: Long
  ): CompletableFuture[Listed] = {
    val known = question.known.iterator.map { case (topic, p, _) => new TopicPartition(topic, p) }.toSet
    val first = list(known -- unlistable -- silent.keySet, question.isAhead)
    quiet(question, first).thenCompose[Listed] {
      case Some(same) => CompletableFuture.completedFuture(same)
      case None =>
        val attempt = Attempt(question, silent, until, leadersUntil = None, responsive, first)
        listOnce(attempt).thenCompose[Listed] { case (described, listings) =>
          val led = described.leaders
          recent.filterInPlace((tp, _) => led.contains(tp))
          unlistable = (known -- led.keySet) ++ led.collect { case (tp, None) => tp }
          listed(described, listings, silent).thenApply[Listed](remember(question.topics, _))
        }
    }
  }

  private def remember(topics: Set[String], found: Listed): Listed = {
    val isComplete = found.unanswered.isEmpty && topics == found.present.map(_.topic)
    last = Option.when(isComplete)(
      Last(topics, found, isQuiet = last.exists(_.listed.ends == found.ends), clock.monotonicMs())
    )
    found
  }

  /**
   * The last response, without describing the topics again, if no latest offset has changed: the cluster has nothing to read,
   * so nothing can be read from a topic that was recreated meanwhile. None for a cluster that had news last time, because
   * it would have to be described afterwards.
   */
  private def quiet(question: ClusterQuestion, first: Listings): CompletableFuture[Option[Listed]] = {
    val now = clock.monotonicMs()
    last.filter(l =>
      question.isAhead && l.isQuiet && now - l.at < DescribedMs && l.topics == question.topics &&
        l.listed.present == first.keySet
    ).fold(CompletableFuture.completedFuture(Option.empty[Listed])) { l =>
      pause(first.values, LookAgainMs).thenApply[Option[Listed]] { _ =>
        val isSame = first.forall { case (tp, listing) =>
          listing.isDone && Futures.outcome(listing).exists(found =>
            l.listed.ends.get(tp).contains(found.end)
          )
        }
        Option.when(isSame) {
          val earliest = first.map { case (tp, listing) => tp -> listing.join().earliest }
          // The same object, so that it is known to have the same meaning.
          if (earliest == l.listed.earliest) l.listed else l.listed.copy(earliest = earliest)
        }
      }
    }
  }

  private def listOnce(attempt: Attempt): CompletableFuture[(Described, Listings)] =
    describe(attempt.question).thenCompose[(Described, Listings)] { described =>
      val asked = described.leaders.collect {
        case (tp, Some(node)) if !attempt.silent.get(tp).exists(_.node.contains(node)) => tp -> node
      }
      val listings =
        attempt.listings ++ list(asked.keySet -- attempt.listings.keySet, attempt.question.isAhead)
      val leaderMs =
        if (attempt.question.complete) config.attemptMs else math.min(config.attemptMs, LeaderMs)
      val until = attempt.leadersUntil.getOrElse(math.min(clock.monotonicMs() + leaderMs, attempt.until))
      val waitMs = math.max(1L, math.min(LookAgainMs, until - clock.monotonicMs()))
      pause(asked.keys.map(listings), waitMs).thenCompose[(Described, Listings)] { _ =>
        val pending = asked.keySet.filterNot(listings(_).isDone)
        val moved = pending.filter(tp => attempt.before.get(tp).exists(_ != asked(tp)))
        if (moved.nonEmpty) CompletableFuture.failedFuture[(Described, Listings)](new LeaderMoved(moved))
        else if (pending.isEmpty || clock.monotonicMs() >= until)
          CompletableFuture.completedFuture((described, listings))
        else
          listOnce(attempt.copy(
            leadersUntil = Some(until),
            before = asked ++ attempt.before,
            listings = listings
          ))
      }
    }

  private def listed(
      described: Described,
      listings: Listings,
      silent: Map[TopicPartition, Unanswered]
  ): CompletableFuture[Listed] = {
    val states: Map[TopicPartition, Either[Unanswered, CompletableFuture[Listing]]] =
      described.leaders.map {
        case (tp, None) => tp -> Left(Unanswered(None, "partition has no leader"))
        case (tp, Some(node)) =>
          tp -> silent.get(tp).filter(_.node.contains(node)).toLeft(listings(tp)).flatMap(answerOf(node, _))
      }
    val unanswered = states.collect { case (tp, Left(why)) => tp -> why }
    responsive =
      described.leaders.collect { case (tp, Some(node)) if !unanswered.contains(tp) => tp -> node }
    allPresent(states.collect { case (tp, Right(listing)) => tp -> listing }).thenApply[Listed](found =>
      Listed(
        states.keySet,
        found.map { case (tp, listing) => tp -> listing.end },
        found.map { case (tp, listing) => tp -> listing.earliest },
        unanswered,
        described.ids
      )
    )
  }

  private def answerOf(
      node: Int,
      listing: CompletableFuture[Listing]
  ): Either[Unanswered, CompletableFuture[Listing]] =
    if (!listing.isDone) Left(Unanswered(Some(node), s"its leader, broker $node, does not respond"))
    else
      Futures.failure(listing).collect {
        case e: RetriableException if !e.isInstanceOf[UnknownTopicOrPartitionException] =>
          Unanswered(Some(node), s"its leader, broker $node: ${e.getMessage}")
      }.toLeft(listing)

  private def describe(question: ClusterQuestion): CompletableFuture[Described] = {
    val all = client.describe(question.topics).map { case (topic, answer) => topic -> naming(topic, answer) }
    allPresent(all).orTimeout(config.attemptMs, TimeUnit.MILLISECONDS).thenApply[Described] { topics =>
      val leaders = for {
        (topic, answer) <- topics
        (p, node) <- answer.leaders if question.only.get(topic).forall(_(p))
      } yield new TopicPartition(topic, p) -> node
      Described(leaders, topics.collect { case (topic, TopicAnswer(_, Some(id))) => topic -> id })
    }
  }

  private def list(tps: Set[TopicPartition], ahead: Boolean): Listings =
    if (tps.isEmpty) Map.empty
    else {
      val now = clock.monotonicMs()
      val known = tps.flatMap(tp =>
        recent.get(tp).filter(e => ahead && now - e.at < EarliestMs).map(tp -> _.offset)
      ).toMap
      val ends = client.offsets(tps.map(_ -> OffsetSpec.latest).toMap, config.isolation)
      val asked = tps -- known.keySet
      val earliest =
        if (asked.isEmpty) Map.empty[TopicPartition, CompletableFuture[ListedOffset]]
        else client.offsets(asked.map(_ -> OffsetSpec.earliest).toMap, config.isolation)
      earliest.foreach { case (tp, answer) =>
        answer.thenAccept(found => recent.update(tp, Earliest(found.offset, now)))
      }
      tps.iterator.map { tp =>
        tp -> known.get(tp).fold(ends(tp).thenCombine[ListedOffset, Listing](
          earliest(tp),
          (end, first) => Listing(end, first.offset)
        ))(offset => ends(tp).thenApply[Listing](Listing(_, offset)))
      }.toMap
    }

  /** Adds the topic to an authorization error, because Kafka does not name it. */
  private def naming[A](topic: String, answer: CompletableFuture[A]): CompletableFuture[A] =
    answer.exceptionally(e =>
      throw new CompletionException(Futures.cause(e) match {
        case _: TopicAuthorizationException => new TopicAuthorizationException(ju.Set.of(topic))
        case other => other
      })
    )
}

private[source] object PartitionListings {
  private val LookAgainMs = 1000L

  /**
   * How long a trigger waits for the leader of a partition when other partitions have responded: once, since later
   * triggers do not wait for a leader that did not respond.
   */
  private val LeaderMs = 5000L

  /** How long the earliest offset of a partition is used by questions that are asked ahead. */
  private val EarliestMs = 5000L

  /** How long the description of topics is used whose latest offsets do not change. */
  private val DescribedMs = 5000L

  /** @param at when it was listed, in monotonic milliseconds */
  private final case class Earliest(offset: Long, at: Long)

  /** @param at when it arrived, in monotonic milliseconds */
  private final case class Last(topics: Set[String], listed: Listed, isQuiet: Boolean, at: Long)

  /** @param ids the topic ids, where the broker gives them */
  private final case class Described(leaders: Map[TopicPartition, Option[Int]], ids: Map[String, String])

  /** The latest and the earliest offset of a partition. */
  private final case class Listing(end: ListedOffset, earliest: Long)
  private type Listings = Map[TopicPartition, CompletableFuture[Listing]]

  /**
   * @param until when an incomplete response is used
   * @param leadersUntil until when it waits for leaders; None: not known before the topics are described
   * @param before the first known leader of each partition: requests were sent to it
   */
  private final case class Attempt(
      question: ClusterQuestion,
      silent: Map[TopicPartition, Unanswered],
      until: Long,
      leadersUntil: Option[Long],
      before: Map[TopicPartition, Int],
      listings: Listings
  )

  /**
   * @param present the existing partitions
   * @param ends the latest offsets; without partitions that have been deleted meanwhile, as `earliest`
   * @param unanswered partitions without offsets
   * @param ids the topic ids, where the broker gives them
   */
  final case class Listed(
      present: Set[TopicPartition],
      ends: Map[TopicPartition, ListedOffset],
      earliest: Map[TopicPartition, Long],
      unanswered: Map[TopicPartition, Unanswered],
      ids: Map[String, String]
  ) {
    def answered: Set[TopicPartition] = present -- unanswered.keySet
  }
}
