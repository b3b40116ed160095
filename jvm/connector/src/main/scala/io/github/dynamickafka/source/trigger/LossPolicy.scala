package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.ClusterOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  LogKey,
  Loss,
  NextOffset,
  OffsetRange,
  Positions
}

/**
 * Fails the query for lost records or logs them, depending on `failOnDataLoss`: for each kind of loss and each partition
 * once in [[LossPolicy.LogAgainMs]], because a topic that is read too slowly may lose records in every trigger.
 *
 * @param graceMs how long a known topic or partition may be missing, as in [[LossGrace]]
 * @param metadata is asked before something that is missing counts as lost
 */
private[source] final class LossPolicy(
    failOnDataLoss: Boolean,
    graceMs: Long,
    metadata: LossGrace.Metadata = LossGrace.Final
) extends LossGrace(graceMs, metadata) {
  private val log = LoggerFactory.getLogger(classOf[LossPolicy])
  private var lastLoggedMs = Map.empty[LossPolicy.Key, Long]

  /**
   * @param waitForTopics whether to wait for `graceMs`; false if the batch must be decided now
   * @param isDrained whether the query would not have read anything of what is gone
   * @return whether something is missing that does not count as lost yet
   * @throws DynamicKafkaRuntimeException `DATA_LOSS`, `TOPIC_RECREATED`
   */
  def judge(
      losses: Seq[Loss],
      now: Long,
      waitForTopics: Boolean,
      isDrained: Loss => Boolean = _ => false
  ): Boolean = {
    lastLoggedMs = lastLoggedMs.filter { case (_, at) => now - at < LossPolicy.LogAgainMs }
    val lost = if (waitForTopics) observe(losses, now) else losses
    lost.filterNot(isDrained).foreach(decide(_, now))
    lost.size < losses.size
  }

  private def decide(loss: Loss, now: Long): Unit = {
    if (failOnDataLoss) throw loss.error
    val key = LossPolicy.key(loss)
    if (!lastLoggedMs.contains(key)) {
      log.warn(loss.warning)
      lastLoggedMs += key -> now
    }
  }
}

private[source] object LossPolicy {
  val LogAgainMs = 60000L

  /** The kind of the loss, cluster, topic, and partition or -1. */
  private type Key = (String, String, String, Int)

  private def key(loss: Loss): Key = {
    val partition = loss.productIterator.collectFirst { case partition: Int => partition }
    (loss.productPrefix, loss.cluster, loss.topic, partition.getOrElse(-1))
  }
}

/**
 * How long topics and partitions have been missing. A broker that has just started, or lags behind the controller, may not
 * know every topic, so what is missing counts as lost after `graceMs`; all other losses count at once. The metadata may not have
 * them any more: before, the service is asked.
 *
 * Used only by the thread of the query.
 */
private[source] sealed class LossGrace(graceMs: Long, metadata: LossGrace.Metadata = LossGrace.Final) {
  import LossGrace._

  private var missing = Map.empty[Loss, Missing]

  /** Whether this counts as lost, if it is found at this time. */
  def isLost(loss: Loss, now: Long): Boolean = !canReturn(loss) ||
    missing.get(loss).fold(graceMs <= 0)(first =>
      now - first.since >= graceMs && first.asked.forall(metadata.reads(loss.cluster, loss.topic, _))
    )

  /**
   * Stores since when these are missing.
   *
   * @param losses all losses of a trigger
   * @return those that count as lost
   */
  def observe(losses: Seq[Loss], now: Long): Seq[Loss] = {
    missing = losses.filter(canReturn).map { loss =>
      loss -> missing.getOrElse(loss, Missing(now, metadata.ask()))
    }.toMap
    losses.filter(isLost(_, now))
  }
}

private[source] object LossGrace {

  /** What the metadata of the query say about what is missing. */
  trait Metadata {

    /** Asks the service. Returns the number of the request, if there is one. */
    def ask(): Option[Long]

    /** Whether, by an answer to this request or to a later one, the query has to read the topic. */
    def reads(cluster: String, topic: String, asked: Long): Boolean
  }

  /** Metadata that do not change. */
  object Final extends Metadata {
    override def ask(): Option[Long] = None
    override def reads(cluster: String, topic: String, asked: Long): Boolean = true
  }

  private final case class Missing(since: Long, asked: Option[Long])

  private def canReturn(loss: Loss) = loss match {
    case _: Loss.TopicGone | _: Loss.PartitionGone => true
    case _ => false
  }
}

/**
 * Partitions whose offsets a reachable cluster does not return: without a leader, or with a leader that does not
 * respond. The query continues without them; each one is logged once, and fails the query when it has been without
 * an answer for too long.
 *
 * @param fails whether the query fails at once where it cannot wait
 * @param limitMs how long a partition may be without an answer, in milliseconds; -1: forever
 */
private[source] final class UnansweredPartitions(fails: Boolean, limitMs: Long, clock: Clock) {
  import UnansweredPartitions._

  private var since = Map.empty[LogKey, Long]

  /**
   * @param views the responses of the clusters; nothing changes for an unreachable cluster, and a cluster without one has left
   * @param streamOf the stream of a topic of a cluster
   * @param waits whether a later trigger asks again
   * @throws DynamicKafkaRuntimeException `PARTITION_UNAVAILABLE`
   */
  def judge(views: Map[String, ClusterView], streamOf: (String, String) => String, waits: Boolean): Unit = {
    val now = clock.monotonicMs()
    since = since.filter { case (k, _) => views.contains(k.cluster) }
    val found = views.iterator.collect { case (id, view: ClusterView.Reachable) =>
      view.unanswered.map { case ((topic, p), reason) => LogKey(id, topic, p) -> reason }
    }.flatten.toMap
    val answered = since.keySet.filter(k =>
      views.get(k.cluster).exists(_.isInstanceOf[ClusterView.Reachable]) && !found.contains(k)
    )
    answered.foreach { k =>
      log.info(
        "Kafka cluster '{}': {}-{} has offsets again after {} ms",
        k.cluster,
        k.topic,
        k.partition,
        now - since(k)
      )
    }
    since --= answered
    found.toSeq.sortBy(_._1).foreach { case (k, reason) =>
      val stream = streamOf(k.cluster, k.topic)
      if (!since.contains(k)) {
        since += k -> now
        log.warn(
          "Kafka cluster '{}' returns no offsets of partition {} of topic '{}' (stream '{}'): {}; the query continues with " +
            "the other partitions and retries",
          k.cluster,
          k.partition,
          k.topic,
          stream,
          reason
        )
      }
      val ms = now - since(k)
      if ((fails && !waits) || (limitMs >= 0 && ms >= limitMs))
        throw Errors.partitionUnavailable(k.cluster, k.topic, k.partition, stream, ms, reason)
    }
  }
}

private[source] object UnansweredPartitions {
  private val log = LoggerFactory.getLogger(classOf[UnansweredPartitions])

  def apply(options: ClusterOptions, clock: Clock): UnansweredPartitions =
    if (options.unreachable.skip)
      new UnansweredPartitions(fails = false, options.unreachable.timeoutMs, clock)
    // Longer than the election of a leader takes, and than a broker takes to restart.
    else new UnansweredPartitions(fails = true, 2 * options.requestTimeoutMs, clock)

  private implicit val byName: Ordering[LogKey] = Ordering.by(k => (k.cluster, k.topic, k.partition))
}

/**
 * The records that the query has given up since it was started: `failOnDataLoss=false`, `unreachableReplayPolicy=skip`,
 * `replacedClusterPolicy`; and those that it reads again in a cluster that was replaced. The driver knows the number; of a log
 * that is gone, up to the last end that it has found. Used only by the thread of the query.
 */
private[source] final class LostRecords {
  private var count = 0L
  private var again = 0L

  def total: Long = count

  /** Records that are read again. */
  def repeated: Long = again

  /** Records of a logged batch that are not read. */
  def add(ranges: Iterable[OffsetRange]): Unit = count += ranges.iterator.map(_.size).sum

  /**
   * Called when the next offset is final: each loss is in one offset.
   *
   * @param start the positions before
   * @param ends the latest offsets that were known before this trigger, by cluster
   */
  def add(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Unit = {
    count += LostRecords.of(start, next, ends)
    again += next.replaced.distinctBy(_.cluster).flatMap(_.continued).map(_.repeated).sum
  }
}

private[source] object LostRecords {

  def of(start: CompositeOffset, next: NextOffset, ends: SortedMap[String, Positions]): Long = {
    val whole = next.replaced.filter(_.of.isEmpty)
    val replaced = whole.map(_.cluster).toSet
    // The others keep their positions until all of their partitions have answered.
    val done = whole.filter(r =>
      r.continued.isEmpty && next.rest.identities.get(r.cluster).exists(_.kafkaId.contains(r.found))
    )
    next.losses.filterNot(loss => replaced(loss.cluster)).map(ofLoss(start, next, _, ends)).sum +
      done.iterator.map(_.cluster).map(id =>
        unread(start.position(id), ends.getOrElse(id, Positions.empty))
      ).sum
  }

  private def ofLoss(
      start: CompositeOffset,
      next: NextOffset,
      loss: Loss,
      ends: SortedMap[String, Positions]
  ): Long = loss match {
    case l: Loss.TopicGone => ofDrain(start, next, l.cluster, ends)((topic, _) => topic == l.topic)
    case l: Loss.PartitionGone =>
      ofDrain(start, next, l.cluster, ends)((topic, p) => topic == l.topic && p == l.partition)
    case _ =>
      val known = ends.getOrElse(loss.cluster, Positions.empty)
      loss.missing.map { case (p, from, until) =>
        val end = if (until < Long.MaxValue) until else known.get(loss.topic, p).getOrElse(from)
        math.max(0L, end - from)
      }.sum
  }

  /** Positions of what is gone are kept, because it may return, unless a drain ends there. */
  private def ofDrain(
      start: CompositeOffset,
      next: NextOffset,
      id: String,
      ends: SortedMap[String, Positions]
  )(isGone: (String, Int) => Boolean): Long = {
    val targets = start.draining.getOrElse(id, Positions.empty)
    val (after, kept) =
      (next.rest.draining.getOrElse(id, Positions.empty), next.rest.position(id))
    val ended = start.position(id).filter((topic, p) =>
      isGone(topic, p) && (targets.topics(topic) || after.topics(topic)) &&
        kept.get(topic, p).forall(after.get(topic, p).contains)
    )
    unread(ended, ends.getOrElse(id, Positions.empty) ++ targets)
  }

  private def unread(positions: Positions, ends: Positions): Long =
    positions.iterator.map { case (topic, p, at) =>
      ends.get(topic, p).fold(0L)(end => math.max(0L, end - at))
    }.sum
}
