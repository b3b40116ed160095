package io.github.dynamickafka.metadata.watch

import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.resolve.{Resolution, WriteResolution}
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.topology.{Topology, WriteTopology}

/** One look at the metadata service: all calls that a topology needs, one after the other. */
private[metadata] final class MetadataQuery(service: KafkaMetadataService, subscription: Subscription) {

  /**
   * For reading.
   *
   * @throws Throwable what the service throws, or METADATA_INVALID where its answer can't be used
   */
  def topology(allowMissingStreams: Boolean): Topology =
    Resolution.resolve(subscription, allowMissingStreams, streams(), service.isClusterActive)

  /** As [[topology]], for writing. */
  def writeTopology(): WriteTopology =
    WriteResolution.resolve(subscription, streams(), service.isClusterActive)

  private def streams(): Map[String, KafkaStream] = subscription match {
    case Subscription.Ids(ids) =>
      val answer = service.describeStreams(new ju.ArrayList(ids.asJava))
      if (answer == null) throw Errors.metadataInvalid("the answer of describeStreams", "it is null")
      answer.asScala.to(VectorMap)
    case Subscription.Pattern(_) =>
      val answer = service.getAllStreams()
      if (answer == null || answer.asScala.exists(_ == null))
        throw Errors.metadataInvalid("the answer of getAllStreams", "it is null or holds null")
      byId(answer.asScala.toSeq)
  }

  private def byId(streams: Seq[KafkaStream]): Map[String, KafkaStream] = {
    streams.groupBy(_.streamId).collectFirst { case (id, Seq(_, _, _*)) =>
      throw Errors.metadataInvalid(s"stream '$id'", "the answer of getAllStreams has it more than once")
    }
    streams.map(s => s.streamId -> s).to(VectorMap)
  }
}
