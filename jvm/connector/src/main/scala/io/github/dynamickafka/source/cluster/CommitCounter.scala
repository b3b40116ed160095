package io.github.dynamickafka.source.cluster

import org.slf4j.LoggerFactory

/**
 * The number of group commits since the query started. A commit is one request with all offsets of one cluster.
 */
private[source] final case class CommitCounts(succeeded: Long, failed: Long) {
  def +(that: CommitCounts): CommitCounts = CommitCounts(succeeded + that.succeeded, failed + that.failed)
}

private[source] object CommitCounts {
  val none: CommitCounts = CommitCounts(0L, 0L)
}

/** Counts commits, and logs the first failure, a failure with another reason, and the recovery. Thread-safe. */
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
      log.info("Kafka cluster '{}' accepts offset commits of group '{}' again", cluster, group: Any)
    }
  }

  /** @param reason without secrets */
  def failed(cluster: String, group: String, reason: String): Unit = synchronized {
    counts += cluster -> (of(cluster) + CommitCounts(0L, 1L))
    if (!failing.get(cluster).contains(reason)) {
      failing += cluster -> reason
      log.warn(
        "Kafka cluster '{}' rejected the offset commit of group '{}': {}; the query continues and retries",
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
