package io.github.dynamickafka.sink.route

import io.github.dynamickafka.error.Errors

/** @param partitions of the topic that belong to the stream; None: all of them */
private[sink] final case class Destination(
    cluster: String,
    topic: String,
    partitions: Option[IndexedSeq[Int]]
)

/** Why a row has no destination. */
private[sink] final case class Unroutable(
    stream: Option[String],
    cluster: Option[String],
    topic: Option[String],
    reason: String,
    knownCluster: Boolean
) {

  /** The one whose dead letters it belongs to. */
  def ownCluster: Option[String] = cluster.filter(_ => knownCluster)

  def error: Errors.Runtime = Errors.unroutableRow(stream, cluster, topic, reason)
}
