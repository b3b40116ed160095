package io.github.dynamickafka.metadata.resolve

import scala.collection.immutable.{SortedMap, TreeMap}

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.topology.{WriteCluster, WriteEntry, WriteStream, WriteTopology}

/**
 * Resolves the answer of the metadata service for a query that writes, as [[Resolution]] does for a query that reads.
 */
private[metadata] object WriteResolution {

  /**
   * @param streams the answer of the service, by stream id
   * @param active called once for each cluster; an inactive cluster takes no writes
   * @param others ids of streams that the service has, called only if one is missing, to suggest another one
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def resolve(
      subscription: Subscription,
      streams: Map[String, KafkaStream],
      active: String => Boolean,
      others: () => Iterable[String] = () => Nil
  ): WriteTopology = {
    val found = selected(subscription, streams, others).map { case (id, stream) =>
      id -> AnswerCheck.entries(AnswerCheck.stream(id, stream))
    }
    val byCluster = found.flatMap(_._2).groupBy(_.cluster)
    val clusters = byCluster.map { case (id, entries) =>
      id -> WriteCluster(id, AnswerCheck.sameProperties(entries))
    }
    val isActive = clusters.keys.map(id => id -> active(id)).toMap
    WriteTopology(
      found.map { case (id, entries) =>
        id -> WriteStream(id, entries.map(entry(_, isActive)))
      }.to(TreeMap),
      clusters.to(TreeMap)
    )
  }

  private def selected(
      subscription: Subscription,
      streams: Map[String, KafkaStream],
      others: () => Iterable[String]
  ) = subscription match {
    case Subscription.Ids(ids) =>
      ids.foreach { id =>
        val there = streams.get(id).exists(s => s != null && !s.getClusterMetadataMap.isEmpty)
        if (!there) throw Errors.metadataInvalid(
          s"stream '$id'",
          "the answer does not contain it, or contains no cluster of it." +
            s"${StreamNames.suggestion(id, others())} This counts as a failure of the service"
        )
      }
      ids.map(id => id -> streams(id))
    case Subscription.Pattern(regex) =>
      if (streams.isEmpty)
        throw Errors.metadataInvalid(
          "the return value of getAllStreams",
          "the service returned no stream"
        )
      streams.toSeq.filter { case (id, _) => regex.matches(id) }
  }

  private def entry(e: AnswerCheck.Entry, isActive: Map[String, Boolean]) = {
    val closed =
      if (!e.write) Some("'write' is false in the metadata")
      else if (e.draining) Some("it is draining")
      else if (e.removed) Some("its state in the metadata is 'removed'")
      else if (!isActive(e.cluster)) Some("it is not active according to the metadata service")
      else None
    WriteEntry(
      e.cluster,
      SortedMap.from(e.topics.map { case (topic, some) => topic -> some.map(_.toIndexedSeq) }),
      e.pattern,
      closed,
      e.registry
    )
  }
}
