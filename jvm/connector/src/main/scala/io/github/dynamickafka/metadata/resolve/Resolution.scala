package io.github.dynamickafka.metadata.resolve

import scala.collection.immutable.{SortedMap, SortedSet, TreeMap}

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.topology.{Topology, TopologyCluster, TopologyPattern, TopologyTopic}

/**
 * What a subscription means, given what the metadata service answered. Pure but for the question to `active`.
 *
 * The answer of any service is judged here, so nothing behind this needs to doubt a topology.
 */
private[dynamickafka] object Resolution {

  /**
   * @param streams what the service answered, by stream id; other streams than the subscribed ones are not looked at
   * @param active asked once for each cluster of the subscribed streams; an inactive cluster is left out, so that
   *               a topology without clusters is possible
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def resolve(
      subscription: Subscription,
      allowMissingStreams: Boolean,
      streams: Map[String, KafkaStream],
      active: String => Boolean
  ): Topology = {
    val subscribed = select(subscription, allowMissingStreams, streams)
    val entries = subscribed.flatMap(AnswerCheck.entries)
    val clusters = entries.groupBy(_.cluster).map { case (id, ofCluster) =>
      id -> TopologyCluster(
        id,
        topics(ofCluster),
        AnswerCheck.sameProperties(ofCluster),
        ofCluster.flatMap(e => e.pattern.map(TopologyPattern(_, topic(e, None).copy(matched = true))))
      )
    }
    // Asked only once the rest is known to be good: the question may be a remote call.
    Topology(clusters.to(TreeMap).filter { case (id, _) => active(id) })
  }

  /** The subscribed streams, sorted by id. */
  private def select(
      subscription: Subscription,
      allowMissingStreams: Boolean,
      streams: Map[String, KafkaStream]
  ): Seq[KafkaStream] = {
    val wanted = subscription match {
      case Subscription.Ids(ids) => ids.distinct
      case Subscription.Pattern(regex) => streams.keys.filter(regex.matches).toSeq
    }
    val found = wanted.sorted.flatMap(id => streams.get(id).map(AnswerCheck.stream(id, _)))
    val (filled, empty) = found.partition(!_.getClusterMetadataMap.isEmpty)
    if (!allowMissingStreams) {
      wanted.sorted.find(!streams.contains(_)).foreach(id => throw missing(id, "the answer does not name it"))
      empty.headOption.foreach(stream => throw missing(stream.streamId, "it has no cluster"))
      if (found.isEmpty) throw nothing(subscription, streams.isEmpty)
    }
    filled
  }

  private def topics(entries: Seq[AnswerCheck.Entry]): SortedMap[String, TopologyTopic] = {
    val named = for (e <- entries; (name, partitions) <- e.topics) yield name -> topic(e, partitions)
    named.groupMap(_._1)(_._2).map { case (name, naming) => name -> TopologyTopic.merge(naming) }.to(TreeMap)
  }

  private def topic(entry: AnswerCheck.Entry, partitions: Option[SortedSet[Int]]) =
    TopologyTopic(entry.stream, entry.draining, entry.starting, entry.stopping, partitions)

  private def missing(stream: String, reason: String) =
    Errors.metadataInvalid(
      s"stream '$stream'",
      s"$reason. That is taken for a failure of the service, not for a removal, unless 'allowMissingStreams' is 'true'"
    )

  private def nothing(subscription: Subscription, emptyAnswer: Boolean) = {
    val where = subscription match {
      case Subscription.Ids(_) => "streamIds"
      case Subscription.Pattern(regex) => s"streamPattern '${regex.regex}'"
    }
    val reason =
      if (emptyAnswer) "the service answered without any stream" else "no stream id matches as a whole"
    Errors.metadataInvalid(
      where,
      s"$reason. That is taken for a failure of the service, not for a removal, unless 'allowMissingStreams' is 'true'"
    )
  }
}
