package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Ending, Positions}

/**
 * @param leaders the node that leads each partition, or None for a partition without leader
 * @param id the topic id (KIP-516), if the broker gives one
 */
private[dynamickafka] final case class TopicAnswer(leaders: Map[Int, Option[Int]], id: Option[String] = None)

/**
 * @param epoch the epoch of the leader that responded (KIP-320), if the broker gives one
 * @param timestamp the time of the record, if offsets by time were requested and there is one
 */
private[dynamickafka] final case class ListedOffset(
    offset: Long,
    epoch: Option[Long] = None,
    timestamp: Option[Long] = None
)

/** The requests of the driver to one cluster, with one client of Kafka. Never blocks: results are futures. Thread-safe. */
private[dynamickafka] trait ClusterClient extends AutoCloseable {

  /** The `cluster.id` of Kafka (KIP-78), to find cluster ids of the metadata that refer to the same cluster. */
  def clusterId: CompletableFuture[String]

  /** All topics without the internal topics of Kafka. */
  def topics: CompletableFuture[Set[String]]

  def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]]

  def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]]

  /** The committed offsets of a consumer group. */
  def committed(group: String): CompletableFuture[Map[TopicPartition, Long]]

  /**
   * Commits offsets to a consumer group from outside of the group (KIP-396): the group must have no members. Requires
   * `READ` on the group and on each topic.
   */
  def commit(group: String, offsets: Map[TopicPartition, Long]): Map[TopicPartition, CompletableFuture[Unit]]

  /** Does not wait for pending requests, which fail if no other user shares the client. */
  override def close(): Unit

  /** This client does not get responses: who connects from now on gets another one. */
  def abandon(): Unit = ()
}

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
 * @param afterwards whether the response must be requested after the question came up: what depends on it is decided for
 *                   good
 * @param ahead whether no trigger waits for the response: it may contain earliest offsets of some seconds ago
 */
private[dynamickafka] final case class ClusterQuestion(
    topics: Set[String],
    known: Positions,
    entering: Map[String, OffsetsPolicy],
    ending: Map[String, Ending] = Map.empty,
    only: Map[String, Set[Int]] = Map.empty,
    complete: Boolean = false,
    afterwards: Boolean = false,
    ahead: Boolean = false
) {

  /** Whether functions of the user have to be called. */
  def isComputed: Boolean =
    (entering.valuesIterator ++ ending.valuesIterator.flatMap(_.policy)).exists(PolicyOffsets.isComputed)
}

private[source] object ClusterQuestion {

  /** The questions that can be asked ahead of the triggers: their responses decide about the next batch only. */
  object Ahead extends LatestAnswers.Rules[ClusterQuestion, ClusterView.Reachable] {

    /** Stopping positions other than times can be the latest offset of this moment. */
    override def isSteady(question: ClusterQuestion): Boolean =
      !question.complete && !question.afterwards && question.ending.valuesIterator.forall(
        _.policy.forall(PolicyOffsets.isByTime)
      )

    /** Start positions can be the latest offset of this moment, but a topic that does not exist has none. */
    override def suffices(question: ClusterQuestion, answer: ClusterView.Reachable): Boolean =
      question.entering.keySet.subsetOf(answer.missing)

    override def isSame(one: ClusterQuestion, other: ClusterQuestion): Boolean =
      one.topics == other.topics && one.only == other.only && one.ending == other.ending

    override def hasNews(question: ClusterQuestion, answer: ClusterView.Reachable): Boolean =
      answer.ends.iterator.exists { case (topic, p, end) => question.known.get(topic, p).forall(_ < end) }
  }
}

/**
 * The response of one cluster.
 *
 * @param silent the partitions whose leaders did not respond; those of `view.unanswered` without a leader are not in it
 */
private[dynamickafka] final case class ClusterAnswer(
    view: ClusterView.Reachable,
    silent: Map[TopicPartition, SilentLeader]
)

/** The node that leads a partition and did not respond to a request about it. */
private[dynamickafka] final case class SilentLeader(node: Int, reason: String)

/**
 * How long to wait for a response.
 *
 * @param attemptMs for the description of the topics
 * @param leaderMs for the leader of a partition while other partitions have responded
 * @param until when an incomplete response is used, in monotonic milliseconds
 */
private[dynamickafka] final case class Patience(attemptMs: Long, leaderMs: Long, until: Long)

/** A partition has another leader than the one that was asked: clients wait for the former one (KAFKA-20673). */
private[source] final class LeaderMoved(partitions: Set[TopicPartition])
    extends RuntimeException(
      s"the leader has changed: ${partitions.toSeq.map(_.toString).sorted.mkString(", ")}"
    )
