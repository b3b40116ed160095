package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, CompletionException, TimeUnit}
import java.{util => ju}

import scala.collection.concurrent.TrieMap

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{
  RetriableException,
  TopicAuthorizationException,
  UnknownTopicOrPartitionException
}

import io.github.dynamickafka.base.Clock

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
