package io.github.dynamickafka.source.cluster

import java.time.Duration
import java.util.concurrent.{CompletableFuture, CompletionException, TimeUnit}
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec, TopicDescription}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.errors.{TopicAuthorizationException, UnknownTopicOrPartitionException}
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

import io.github.dynamickafka.offset.{ClusterView, Ending, Positions}
import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * The request of a trigger to one cluster.
 *
 * @param topics all topics to read
 * @param known partitions that are already read: their offsets are requested without waiting for the description of the
 *              topics, which saves a round trip
 * @param entering topics without a position, with their start positions
 * @param ending topics with a stopping position; stopping offsets that are already fixed are not requested again
 * @param only topics of which only some partitions are read, with these partitions
 */
private[source] final case class ClusterQuestion(
    topics: Set[String],
    known: Positions,
    entering: Map[String, OffsetsPolicy],
    ending: Map[String, Ending] = Map.empty,
    only: Map[String, Set[Int]] = Map.empty
)

/**
 * Requests the offsets of one cluster with Kafka's admin client. Never blocks: results are futures, so that one thread
 * can send requests to many clusters at once, and an interrupt ends the wait.
 *
 * Spark's Kafka source is not used for the latest offsets: it takes four to five round trips instead of two, fails on a
 * deleted topic regardless of `failOnDataLoss`, and waits and retries inside the call.
 */
private[source] final class ClusterAdmin(cluster: String, config: ClusterConfig) {

  private val admin = Admin.create(new ju.HashMap[String, AnyRef](config.properties.admin.asJava))

  private val listing = new ListOffsetsOptions(
    if (config.readCommitted) IsolationLevel.READ_COMMITTED else IsolationLevel.READ_UNCOMMITTED
  )

  /**
   * The `cluster.id` of Kafka (KIP-78), to find cluster ids of the metadata that refer to the same cluster. It is also
   * the cheapest request to find out whether the cluster is reachable.
   */
  def kafkaClusterId: CompletableFuture[String] = future(admin.describeCluster().clusterId())

  /** All topics without the internal topics of Kafka. */
  def topics: CompletableFuture[Set[String]] =
    future(admin.listTopics().names()).thenApply[Set[String]](_.asScala.toSet)

  // Partitions that did not exist in the last request. The client would retry to list their offsets until its timeout.
  @volatile private var absent = Set.empty[TopicPartition]

  def ask(question: ClusterQuestion): CompletableFuture[ClusterView.Reachable] = {
    val known = question.known.iterator.map { case (topic, p, _) => new TopicPartition(topic, p) }.toSet
    listed(question, list(known -- absent)).thenCompose { case (present, listings, ids) =>
      absent = known -- present
      val asked = listings.filter { case (tp, _) => present(tp) }
      // Requested after the latest offsets, so that a resolved position is consistent with them if records arrive
      // meanwhile.
      val found = offsets(asked).thenCompose[((Offsets, Offsets), Offsets)](offsets =>
        ending(question, present).thenApply(offsets -> _)
      )
      then2(found, entering(question, present)) { (found, entering) =>
        val ((ends, earliest), ending) = found
        val vanished = present.filter(tp => !ends.contains(tp) || !earliest.contains(tp)).map(_.topic)
        val here = (tp: TopicPartition) => present(tp) && !vanished(tp.topic)
        ClusterView.Reachable(
          ends = positions(ends, here),
          earliest = positions(earliest, here),
          entering = positions(entering.map { case (tp, o) => tp -> at(o, tp, ends, earliest) }, here),
          missing = (question.topics -- present.map(_.topic)) ++ vanished,
          endings = positions(ending.map { case (tp, o) => tp -> at(o, tp, ends, earliest) }, here),
          topicIds = ids
        )
      }
    }
  }

  /** The topic ids (KIP-516) of these topics, without topics that do not exist. */
  def topicIds(topics: Set[String]): CompletableFuture[Map[String, String]] = described(topics).thenApply(ids)

  /**
   * The existing partitions, the completed listings of their offsets, and the ids of the topics. While listings are pending, the topics are
   * described again at intervals, because a listing of a topic that was deleted meanwhile never completes.
   */
  private def listed(
      question: ClusterQuestion,
      soFar: Listings
  ): CompletableFuture[(Set[TopicPartition], Listings, Map[String, String])] =
    described(question.topics).thenCompose { found =>
      val present = found.iterator.flatMap { case (topic, description) =>
        val ps = description.partitions.asScala.map(_.partition)
        ps.filter(p => question.only.get(topic).forall(_(p))).map(new TopicPartition(topic, _))
      }.toSet
      val listings = soFar ++ list(present -- soFar.keySet)
      val waitedFor = present.toSeq.flatMap(tp => Seq(listings(tp)._1, listings(tp)._2))
      val done = CompletableFuture.allOf(waitedFor: _*).handle[Unit]((_, _) => ())
      done.completeOnTimeout((), ClusterAdmin.LookAgainMs, TimeUnit.MILLISECONDS).thenCompose { _ =>
        if (waitedFor.forall(_.isDone)) CompletableFuture.completedFuture((present, listings, ids(found)))
        else listed(question, listings)
      }
    }

  /**
   * Commits offsets to a consumer group from outside of the group (KIP-396): the group must have no members. Requires
   * `READ` on the group and on each topic. Partitions that do not exist are omitted.
   */
  def commit(group: String, positions: Positions): CompletableFuture[Unit] = {
    val offsets = positions.iterator.map { case (topic, p, at) =>
      new TopicPartition(topic, p) -> new OffsetAndMetadata(at)
    }.toMap
    val result = admin.alterConsumerGroupOffsets(group, offsets.asJava)
    allPresent(offsets.map { case (tp, _) => tp -> future(result.partitionResult(tp)) }).thenApply[Unit](_ =>
      ()
    )
  }

  /** Does not wait for pending requests. */
  def close(): Unit = admin.close(Duration.ZERO)

  private type Offsets = Map[TopicPartition, Long]

  /** The latest and the earliest offset of each partition. */
  private type Listings = Map[TopicPartition, (CompletableFuture[Long], CompletableFuture[Long])]

  private def at(offset: Long, tp: TopicPartition, ends: Offsets, earliest: Offsets): Long = offset match {
    case OffsetsPolicy.LatestOffset => ends.getOrElse(tp, 0L)
    case OffsetsPolicy.EarliestOffset => earliest.getOrElse(tp, 0L)
    case exact => exact
  }

  private def described(topics: Set[String]): CompletableFuture[Map[String, TopicDescription]] =
    allPresent(admin.describeTopics(topics.asJava).topicNameValues.asScala.toMap.map {
      case (topic, description) => topic -> naming(topic, future(description))
    })

  /** Brokers without topic ids give a zero id. */
  private def ids(topics: Map[String, TopicDescription]): Map[String, String] =
    topics.collect {
      case (topic, d) if d.topicId != null && d.topicId != Uuid.ZERO_UUID => topic -> d.topicId.toString
    }

  private def list(tps: Set[TopicPartition]): Listings =
    if (tps.isEmpty) Map.empty
    else {
      val (ends, earliest) = (list(tps, OffsetSpec.latest), list(tps, OffsetSpec.earliest))
      tps.iterator.map(tp => tp -> (ends(tp), earliest(tp))).toMap
    }

  private def list(
      tps: Set[TopicPartition],
      spec: OffsetSpec
  ): Map[TopicPartition, CompletableFuture[Long]] = {
    val result = admin.listOffsets(tps.map(_ -> spec).toMap.asJava, listing)
    tps.iterator.map(tp => tp -> future(result.partitionResult(tp)).thenApply[Long](_.offset)).toMap
  }

  /** The latest and the earliest offsets, without partitions that do not exist. */
  private def offsets(listings: Listings): CompletableFuture[(Offsets, Offsets)] = {
    def side(of: ((CompletableFuture[Long], CompletableFuture[Long])) => CompletableFuture[Long]) =
      allPresent(listings.map { case (tp, both) => tp -> of(both) })
    then2(side(_._1), side(_._2))((_, _))
  }

  /** The start positions of entering partitions, where -1 is the latest and -2 the earliest offset. */
  private def entering(
      question: ClusterQuestion,
      present: Set[TopicPartition]
  ): CompletableFuture[Offsets] = {
    val byPolicy = question.entering.toSeq.groupMap(_._2)(_._1)
    val parts = byPolicy.toSeq.map { case (policy, topics) =>
      enteringAt(policy, present.filter(tp => topics.contains(tp.topic)))
    }
    together(parts)
  }

  /**
   * The stopping offsets that are not fixed yet. By timestamp, there is none before a record with this timestamp
   * exists.
   */
  private def ending(question: ClusterQuestion, present: Set[TopicPartition]): CompletableFuture[Offsets] = {
    val open = present.toSeq.flatMap { tp =>
      question.ending.get(tp.topic).filter(!_.fixed.contains(tp.partition)).flatMap(_.policy).map(_ -> tp)
    }
    together(open.groupMap(_._1)(_._2).toSeq.map {
      case (policy @ (_: OffsetsPolicy.Timestamp | _: OffsetsPolicy.TimestampByPartition), tps) =>
        enteringAt(policy, tps.toSet).thenApply[Offsets](_.filter(_._2 != OffsetsPolicy.LatestOffset))
      case (policy, tps) => enteringAt(policy, tps.toSet, askedBy = "endingOffsets")
    })
  }

  private def together(parts: Seq[CompletableFuture[Offsets]]): CompletableFuture[Offsets] =
    CompletableFuture.allOf(parts: _*).thenApply[Offsets](_ =>
      parts.foldLeft(Map.empty: Offsets)(_ ++ _.join())
    )

  /** @param askedBy the option, for the error message */
  private def enteringAt(
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
    }
  }

  /** `listOffsets` returns -1, which means latest here, if no record has this timestamp or a later one. */
  private def byTime(times: Offsets): CompletableFuture[Offsets] =
    if (times.isEmpty) CompletableFuture.completedFuture(Map.empty)
    else {
      val specs = times.map { case (tp, ms) => tp -> OffsetSpec.forTimestamp(ms) }
      val result = admin.listOffsets(specs.asJava, listing)
      allPresent(times.keySet.iterator.map(tp =>
        tp -> future(result.partitionResult(tp)).thenApply[Long](_.offset)
      ).toMap)
    }

  private def committed(
      tps: Set[TopicPartition],
      fallback: Option[OffsetsPolicy],
      askedBy: String
  ): CompletableFuture[Offsets] = {
    val group = config.committedGroup.getOrElse(
      throw new IllegalStateException("committed offsets without a group")
    )
    val answer = future(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata)
    answer.thenCompose { all =>
      val found: Offsets = tps.iterator.flatMap(tp => Option(all.get(tp)).map(tp -> _.offset)).toMap
      val rest = tps -- found.keySet
      if (rest.isEmpty) CompletableFuture.completedFuture(found)
      else fallback match {
        case Some(policy) => enteringAt(policy, rest).thenApply[Offsets](found ++ _)
        case None =>
          val names = rest.toSeq.map(_.toString).sorted.mkString(", ")
          CompletableFuture.failedFuture(new NoCommittedOffset(askedBy, group, names))
      }
    }
  }

  private def positions(offsets: Offsets, keep: TopicPartition => Boolean): Positions =
    Positions(offsets.toSeq.filter { case (tp, _) => keep(tp) }.groupBy(_._1.topic).map { case (topic, of) =>
      topic -> SortedMap.from(of.map { case (tp, offset) => tp.partition -> offset })
    })

  private def future[A](f: KafkaFuture[A]): CompletableFuture[A] = f.toCompletionStage.toCompletableFuture

  /** All results, without those of topics and partitions that do not exist. */
  private def allPresent[K, V](all: Map[K, CompletableFuture[V]]): CompletableFuture[Map[K, V]] = {
    val tolerant = all.map { case (k, f) =>
      k -> f.thenApply[Option[V]](Some(_)).exceptionally(e =>
        ClusterAdmin.cause(e) match {
          case _: UnknownTopicOrPartitionException => None
          case other => throw new CompletionException(other)
        }
      )
    }
    CompletableFuture.allOf(tolerant.values.toSeq: _*).thenApply[Map[K, V]] { _ =>
      tolerant.flatMap { case (k, f) => f.join().map(k -> _) }
    }
  }

  /** Adds the topic to an authorization error, because Kafka does not name it. */
  private def naming[A](topic: String, answer: CompletableFuture[A]): CompletableFuture[A] =
    answer.exceptionally(e =>
      throw new CompletionException(ClusterAdmin.cause(e) match {
        case _: TopicAuthorizationException => new TopicAuthorizationException(ju.Set.of(topic))
        case other => other
      })
    )

  private def then2[A, B, C](
      a: CompletableFuture[A],
      b: CompletableFuture[B]
  )(f: (A, B) => C): CompletableFuture[C] =
    a.thenCombine[B, C](b, f(_, _))
}

private[source] object ClusterAdmin {
  private val LookAgainMs = 1000L

  /** The exception of the client, without the wrappers of futures. */
  @annotation.tailrec
  def cause(e: Throwable): Throwable = e match {
    case wrapped @ (_: CompletionException | _: java.util.concurrent.ExecutionException)
        if wrapped.getCause != null =>
      cause(wrapped.getCause)
    case other => other
  }
}

/** A partition has no committed offset, and no fallback is set. */
private[source] final class NoCommittedOffset(val option: String, group: String, partitions: String)
    extends RuntimeException(s"group '$group' has no committed offset for $partitions")
