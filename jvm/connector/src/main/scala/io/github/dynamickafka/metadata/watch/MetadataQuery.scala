package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._
import scala.util.Try

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.resolve.Resolution
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.topology.Topology

/** One poll of the metadata service: makes all calls that are required for a topology, one after the other. */
private[metadata] final class MetadataQuery(service: KafkaMetadataService, subscription: Subscription) {

  /** Whether there was a valid topology: then a stream that is missing is no typing error. */
  private var hasSucceeded = false

  /**
   * Returns the topology for reading.
   *
   * @param next runs before each call of the service after the first one
   * @throws Throwable the exception of the service, or METADATA_INVALID if its answer is invalid
   */
  def topology(allowMissingStreams: Boolean, next: () => Unit): Topology =
    succeeded(Resolution.resolve(
      subscription,
      allowMissingStreams,
      streams(),
      isActive(next),
      () => others(next)
    ))

  /** Like [[topology]], for writing. */
  def writeTopology(next: () => Unit): Topology =
    succeeded(Resolution.forWriting(subscription, streams(), isActive(next), () => others(next)))

  private def succeeded(topology: Topology): Topology = {
    hasSucceeded = true
    topology
  }

  /** The ids of all streams, to suggest one of them; none if the service does not say. */
  private def others(next: () => Unit): Iterable[String] =
    if (hasSucceeded) Nil
    else {
      next()
      Try(service.getAllStreams().asScala.toSeq.map(_.streamId)).getOrElse(Nil)
    }

  private def isActive(next: () => Unit)(cluster: String): Boolean = {
    next()
    service.isClusterActive(cluster)
  }

  private def streams(): Map[String, KafkaStream] = subscription match {
    case Subscription.Ids(ids) =>
      val answer = service.describeStreams(new ju.ArrayList(ids.asJava))
      if (answer == null) throw Errors.metadataInvalid("the return value of describeStreams", "it is null")
      answer.asScala.to(VectorMap)
    case Subscription.Pattern(_) =>
      val answer = service.getAllStreams()
      if (answer == null || answer.asScala.exists(_ == null))
        throw Errors.metadataInvalid("the return value of getAllStreams", "it is null or contains null")
      byId(answer.asScala.toSeq)
  }

  private def byId(streams: Seq[KafkaStream]): Map[String, KafkaStream] = {
    streams.groupBy(_.streamId).collectFirst { case (id, Seq(_, _, _*)) =>
      throw Errors.metadataInvalid(
        s"stream '$id'",
        "the return value of getAllStreams contains it more than once"
      )
    }
    streams.map(s => s.streamId -> s).to(VectorMap)
  }
}
