package io.github.dynamickafka.metadata.watch

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
    @volatile var found = Map.empty[String, KafkaStream]
    Using.resource(MetadataWatcher(
      service,
      subscription,
      discovery.copy(intervalMs = -1),
      name,
      described = found = _
    )) { watcher =>
      val _ = watcher.awaitFirst()
    }
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
}
