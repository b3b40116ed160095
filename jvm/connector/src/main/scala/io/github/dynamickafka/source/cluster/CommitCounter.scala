package io.github.dynamickafka.source.cluster

import org.slf4j.LoggerFactory

/**
 * Commits to the consumer group since the query started.
 *
 * @param succeeded a commit is one request with all offsets of one cluster
 */
private[source] final case class CommitCounts(succeeded: Long, failed: Long) {
  def +(that: CommitCounts): CommitCounts = CommitCounts(succeeded + that.succeeded, failed + that.failed)
}

private[source] object CommitCounts {
  val none: CommitCounts = CommitCounts(0L, 0L)
}

/** Counts commits, and logs what changes: the first failure, one for another reason, the end of them. Any thread. */
private[source] final class CommitCounter {
  import CommitCounter._

  private var counts = Map.empty[String, CommitCounts]
  private var failing = Map.empty[String, String]

  def of(cluster: String): CommitCounts = synchronized(counts.getOrElse(cluster, CommitCounts.none))
  def total: CommitCounts = synchronized(counts.valuesIterator.foldLeft(CommitCounts.none)(_ + _))

  def succeeded(cluster: String, group: String): Unit = synchronized {
    counts += cluster -> (of(cluster) + CommitCounts(1L, 0L))
    if (failing.contains(cluster)) {
      failing -= cluster
      log.info("Kafka cluster '{}' takes the offsets for group '{}' again", cluster, group: Any)
    }
  }

  /** @param reason without secrets */
  def failed(cluster: String, group: String, reason: String): Unit = synchronized {
    counts += cluster -> (of(cluster) + CommitCounts(0L, 1L))
    if (!failing.get(cluster).contains(reason)) {
      failing += cluster -> reason
      log.warn(
        "Kafka cluster '{}' does not take the offsets for group '{}': {}; the query goes on and tries again",
        cluster,
        group,
        reason
      )
    }
  }
}

private[source] object CommitCounter {
  private val log = LoggerFactory.getLogger(classOf[CommitCounter])
}
