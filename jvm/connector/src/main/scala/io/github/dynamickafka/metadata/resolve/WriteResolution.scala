package io.github.dynamickafka.metadata.resolve

import scala.collection.immutable.{SortedMap, TreeMap}

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.topology.{WriteCluster, WriteEntry, WriteStream, WriteTopology}

/** What a writing query makes of an answer of the metadata service, as [[Resolution]] for a reading one. */
private[metadata] object WriteResolution {

  /**
   * @param streams what the service answered, by stream id
   * @param active asked once for each cluster; one that is not active takes no writes
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def resolve(
      subscription: Subscription,
      streams: Map[String, KafkaStream],
      active: String => Boolean
  ): WriteTopology = {
    val found = selected(subscription, streams).map { case (id, stream) =>
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

  private def selected(subscription: Subscription, streams: Map[String, KafkaStream]) =
    subscription match {
      case Subscription.Ids(ids) =>
        ids.foreach { id =>
          val there = streams.get(id).exists(s => s != null && !s.getClusterMetadataMap.isEmpty)
          if (!there) throw Errors.metadataInvalid(
            s"stream '$id'",
            "the answer does not name it, or names no cluster of it. That is taken for a failure of the service"
          )
        }
        ids.map(id => id -> streams(id))
      case Subscription.Pattern(regex) =>
        if (streams.isEmpty)
          throw Errors.metadataInvalid(
            "the answer of getAllStreams",
            "the service answered without any stream"
          )
        streams.toSeq.filter { case (id, _) => regex.matches(id) }
    }

  private def entry(e: AnswerCheck.Entry, isActive: Map[String, Boolean]) = {
    val closed =
      if (!e.write) Some("the metadata says 'write: false'")
      else if (e.draining) Some("it is draining")
      else if (!isActive(e.cluster)) Some("the metadata service says that it is not active")
      else None
    WriteEntry(
      e.cluster,
      SortedMap.from(e.topics.map { case (topic, some) => topic -> some.map(_.toIndexedSeq) }),
      e.pattern,
      closed
    )
  }
}
