package io.github.dynamickafka.sink.route

import io.github.dynamickafka.error.Errors

/** @param partitions the partitions of the topic that belong to the stream; None: all partitions */
private[sink] final case class Destination(
    cluster: String,
    topic: String,
    partitions: Option[IndexedSeq[Int]]
)

/** The reason why a row has no destination. */
private[sink] final case class Unroutable(
    stream: Option[String],
    cluster: Option[String],
    topic: Option[String],
    reason: String,
    knownCluster: Boolean
) {

  /** The cluster whose dead letter topic receives the row. */
  def ownCluster: Option[String] = cluster.filter(_ => knownCluster)

  def error: Errors.Runtime = Errors.unroutableRow(stream, cluster, topic, reason)
}
