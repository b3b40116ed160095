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
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Positions}

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
  import Futures.{allPresent, then2}

  private type Offsets = Map[TopicPartition, Long]

  private val policies = new PolicyOffsets(cluster, config, client)
  private val listings = new PartitionListings(config, client, clock)
  @volatile private var last: Option[Last] = None
  @volatile private var committing: CompletableFuture[Unit] = CompletableFuture.completedFuture(())

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
      silent: Map[TopicPartition, SilentLeader],
      patience: Patience
  ): CompletableFuture[Listed] = {
    val known = question.known.iterator.map { case (topic, p, _) => new TopicPartition(topic, p) }.toSet
    val first = list(known -- unlistable -- silent.keySet, question.ahead)
    quiet(question, first).thenCompose[Listed] {
      case Some(same) => CompletableFuture.completedFuture(same)
      case None =>
        val attempt = Attempt(question, silent, patience, responsive, first)
        listOnce(attempt, leadersUntil = None).thenCompose[Listed] { case (described, listings) =>
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
      question.ahead && l.isQuiet && now - l.at < DescribedMs && l.topics == question.topics &&
        l.listed.present == first.keySet
    ).fold(CompletableFuture.completedFuture(Option.empty[Listed])) { l =>
      val both = first.valuesIterator.flatMap(pair => Seq(pair._1, pair._2)).toSeq
      CompletableFuture.allOf(both: _*).handle[Unit]((_, _) => ())
        .completeOnTimeout((), LookAgainMs, TimeUnit.MILLISECONDS).thenApply[Option[Listed]] { _ =>
          val isSame = first.forall { case (tp, (end, earliest)) =>
            succeeded(end) && succeeded(earliest) && l.listed.ends.get(tp).contains(end.join())
          }
          Option.when(isSame) {
            val earliest = first.map { case (tp, pair) => tp -> pair._2.join() }
            // The same object, so that it is known to have the same meaning.
            if (earliest == l.listed.earliest) l.listed else l.listed.copy(earliest = earliest)
          }
        }
    }
  }

  private def succeeded(answer: CompletableFuture[_]) = answer.isDone && !answer.isCompletedExceptionally

  private def listOnce(
      attempt: Attempt,
      leadersUntil: Option[Long]
  ): CompletableFuture[(Described, Listings)] =
    describe(attempt).thenCompose[(Described, Listings)] { described =>
      val led = described.leaders
      val asked = led.collect {
        case (tp, Some(node)) if !attempt.silent.get(tp).exists(_.node == node) => tp -> node
      }
      val listings =
        attempt.listings ++ list(asked.keySet -- attempt.listings.keySet, attempt.question.ahead)
      val waitedFor = asked.keysIterator.flatMap(tp => Seq(listings(tp)._1, listings(tp)._2)).toSeq
      def isPending(tp: TopicPartition) = !listings(tp)._1.isDone || !listings(tp)._2.isDone
      val until = leadersUntil.getOrElse(
        math.min(clock.monotonicMs() + attempt.patience.leaderMs, attempt.patience.until)
      )
      val waitMs = math.max(1L, math.min(LookAgainMs, until - clock.monotonicMs()))
      val done = CompletableFuture.allOf(waitedFor: _*).handle[Unit]((_, _) => ())
      done.completeOnTimeout((), waitMs, TimeUnit.MILLISECONDS).thenCompose[(Described, Listings)] { _ =>
        val pending = asked.keySet.filter(isPending)
        val moved = pending.filter(tp => attempt.before.get(tp).exists(_ != asked(tp)))
        if (moved.nonEmpty) CompletableFuture.failedFuture[(Described, Listings)](new LeaderMoved(moved))
        else if (pending.isEmpty || clock.monotonicMs() >= until)
          CompletableFuture.completedFuture((described, listings))
        else
          listOnce(attempt.copy(listings = listings, before = asked ++ attempt.before), Some(until))
      }
    }

  private def listed(
      described: Described,
      listings: Listings,
      silent: Map[TopicPartition, SilentLeader]
  ): CompletableFuture[Listed] = {
    val led = described.leaders
    val states: Map[TopicPartition, Either[Unanswered, Listing]] = led.map {
      case (tp, None) => tp -> Left(Unanswered(None, "partition has no leader"))
      case (tp, Some(node)) =>
        tp -> listings.get(tp).filter(_ => !silent.get(tp).exists(_.node == node)).toRight(
          Unanswered(Some(node), silent.get(tp).fold("")(_.reason))
        ).flatMap(both => answerOf(node, both))
    }
    val unanswered = states.collect { case (tp, Left(why)) => tp -> why }
    responsive = led.collect { case (tp, Some(node)) if !unanswered.contains(tp) => tp -> node }
    def side[A](of: Listing => CompletableFuture[A]) =
      Futures.allPresent(states.collect { case (tp, Right(both)) => tp -> of(both) })
    Futures.then2(side(_._1), side(_._2)) { (ends, earliest) =>
      Listed(
        led.keySet,
        ends,
        earliest,
        unanswered.map { case (tp, why) => tp -> why.reason },
        unanswered.collect { case (tp, Unanswered(Some(node), reason)) => tp -> SilentLeader(node, reason) },
        described.ids
      )
    }
  }

  private def answerOf(node: Int, both: Listing): Either[Unanswered, Listing] = {
    val failed = Seq(both._1, both._2).flatMap(Futures.failure(_)).collectFirst {
      case e: RetriableException if !e.isInstanceOf[UnknownTopicOrPartitionException] => e
    }
    if (!both._1.isDone || !both._2.isDone)
      Left(Unanswered(Some(node), s"its leader, broker $node, does not respond"))
    else failed.map(e => Unanswered(Some(node), s"its leader, broker $node: ${e.getMessage}")).toLeft(both)
  }

  private def describe(attempt: Attempt): CompletableFuture[Described] = {
    val all =
      client.describe(attempt.question.topics).map { case (topic, answer) => topic -> naming(topic, answer) }
    Futures.allPresent(all).orTimeout(attempt.patience.attemptMs, TimeUnit.MILLISECONDS)
      .thenApply[Described] { topics =>
        val leaders = topics.flatMap { case (topic, TopicAnswer(partitions, _)) =>
          partitions.collect {
            case (p, node) if attempt.question.only.get(topic).forall(_(p)) =>
              new TopicPartition(topic, p) -> node
          }
        }
        Described(leaders, topics.collect { case (topic, TopicAnswer(_, Some(id))) => topic -> id })
      }
  }

  private def list(tps: Set[TopicPartition], ahead: Boolean): Listings =
    if (tps.isEmpty) Map.empty
    else {
      def listing(tps: Set[TopicPartition], spec: OffsetSpec) =
        if (tps.isEmpty) Map.empty[TopicPartition, CompletableFuture[ListedOffset]]
        else client.offsets(tps.iterator.map(_ -> spec).toMap, config.isolation)
      val now = clock.monotonicMs()
      val known = if (ahead)
        tps.flatMap(tp => recent.get(tp).filter(now - _.at < EarliestMs).map(tp -> _)).toMap
      else Map.empty[TopicPartition, Earliest]
      val ends = listing(tps, OffsetSpec.latest)
      val listed = listing(tps -- known.keySet, OffsetSpec.earliest).map { case (tp, answer) =>
        tp -> answer.thenApply[Long](_.offset)
      }
      listed.foreach { case (tp, answer) =>
        answer.thenAccept(offset => recent.update(tp, Earliest(offset, now)))
      }
      val earliest = listed ++ known.map { case (tp, e) => tp -> CompletableFuture.completedFuture(e.offset) }
      tps.iterator.map(tp => tp -> (ends(tp), earliest(tp))).toMap
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
  private type Listing = (CompletableFuture[ListedOffset], CompletableFuture[Long])
  private type Listings = Map[TopicPartition, Listing]

  /** @param before the first known leader of each partition: requests were sent to it */
  private final case class Attempt(
      question: ClusterQuestion,
      silent: Map[TopicPartition, SilentLeader],
      patience: Patience,
      before: Map[TopicPartition, Int],
      listings: Listings
  )

  /** @param node the leader that did not respond; None: there is none */
  private final case class Unanswered(node: Option[Int], reason: String)

  /**
   * @param present the existing partitions
   * @param ends the latest offsets; without partitions that have been deleted meanwhile, as `earliest`
   * @param unanswered partitions without offsets, with the reason
   * @param silent those of `unanswered` whose leader did not respond
   * @param ids the topic ids, where the broker gives them
   */
  final case class Listed(
      present: Set[TopicPartition],
      ends: Map[TopicPartition, ListedOffset],
      earliest: Map[TopicPartition, Long],
      unanswered: Map[TopicPartition, String],
      silent: Map[TopicPartition, SilentLeader],
      ids: Map[String, String]
  ) {
    def answered: Set[TopicPartition] = present -- unanswered.keySet
  }
}
