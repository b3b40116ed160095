package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.topology.Topology

/** The streams of a subscription as a metadata service describes them, which a topology does not contain whole. */
private[dynamickafka] object DescribedStreams {

  /**
   * Asks for them, repeats calls that fail, checks the answer, and closes the service.
   *
   * @param name the name of the service, for errors
   * @return in the order of the ids, or, with a pattern, sorted by id; without those that the service does not have, if that is
   *         allowed
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException METADATA_UNAVAILABLE
   */
  def of(
      service: KafkaMetadataService,
      name: String,
      subscription: Subscription,
      discovery: DiscoveryOptions
  ): Seq[KafkaStream] = {
    val recording = new Recording(service)
    Using.resource(MetadataWatcher(recording, subscription, discovery.copy(intervalMs = -1), name)) {
      watcher =>
        val _ = watcher.awaitFirst()
    }
    val found = recording.answer
    subscription match {
      case Subscription.Ids(ids) => ids.flatMap(found.get)
      case pattern => found.toSeq.sortBy(_._1).collect { case (id, stream) if pattern.includes(id) => stream }
    }
  }

  /**
   * The topology by one call of the service, which is closed then; None if it fails.
   *
   * @param name the name of the service, for logs
   */
  def now(
      service: KafkaMetadataService,
      name: String,
      subscription: Subscription,
      discovery: DiscoveryOptions
  ): Option[Topology] =
    Using.resource(MetadataWatcher(service, subscription, discovery.copy(intervalMs = OnceMs), name))(
      _.awaitFirstAttempt()
    )

  /** Longer than anyone waits for another call. */
  private val OnceMs = 24L * 3600 * 1000

  /** Keeps the last answer, by stream id. */
  private final class Recording(service: KafkaMetadataService) extends KafkaMetadataService {
    @volatile var answer: Map[String, KafkaStream] = Map.empty

    override def getAllStreams(): ju.Set[KafkaStream] = {
      val all = service.getAllStreams()
      answer = all.asScala.map(s => s.streamId -> s).toMap
      all
    }

    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] = {
      val found = service.describeStreams(ids)
      answer = found.asScala.toMap
      found
    }

    override def isClusterActive(cluster: String): Boolean = service.isClusterActive(cluster)
    override def close(): Unit = service.close()
  }
}
