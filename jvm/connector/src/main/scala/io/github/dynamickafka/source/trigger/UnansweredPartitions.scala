package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.ClusterOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.ClusterView

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

  private var since = Map.empty[Key, Long]

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
      view.unanswered.map { case ((topic, p), reason) => Key(id, topic, p) -> reason }
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
    if (options.skipUnreachable) new UnansweredPartitions(fails = false, options.failureTimeoutMs, clock)
    // Longer than the election of a leader takes, and than a broker takes to restart.
    else new UnansweredPartitions(fails = true, 2 * options.requestTimeoutMs, clock)

  private final case class Key(cluster: String, topic: String, partition: Int)
  private implicit val byName: Ordering[Key] = Ordering.by(k => (k.cluster, k.topic, k.partition))
}
