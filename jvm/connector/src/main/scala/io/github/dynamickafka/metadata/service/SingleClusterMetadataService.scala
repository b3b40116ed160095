package io.github.dynamickafka.metadata.service

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.common.KafkaFuture
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.MetadataServiceSpecs.{BootstrapServers, ClusterId}
import io.github.dynamickafka.kafka.{ClientDefaults, ClusterClients, Opening}
import io.github.dynamickafka.metadata.document.DocumentParts
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.option.ClusterKeys

/**
 * A service for one cluster: each topic of the cluster is a stream with the same name. It gets the topics from the
 * cluster, with Kafka's `Admin` client. Corresponds to Flink's `SingleClusterTopicMetadataService` (FLIP-246).
 * Without the property `default.api.timeout.ms`, a call may take 30 s.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION for an invalid cluster id
 */
private[metadata] final class SingleClusterMetadataService(arguments: ServiceArguments)
    extends KafkaMetadataService {
  import SingleClusterMetadataService._

  private val clusterId = arguments(ClusterId)
  if (!ClusterKeys.isClusterId(clusterId))
    ServiceArguments.refuse(ClusterId.name, clusterId, ClusterKeys.Rule)

  private val all = arguments.underPrefix + (DocumentParts.Bootstrap -> arguments(BootstrapServers))
  private val properties = ClientDefaults.admin(all, RequestTimeoutMs)
  private val client =
    new Opened(ClusterClients.admin(properties), properties(CallTimeout).toLongOption.getOrElse(CallLimitMs))

  override def getAllStreams(): ju.Set[KafkaStream] = scrubbed {
    val topics = asked(admin.listTopics().names())
    new ju.LinkedHashSet(topics.asScala.toSeq.sorted.map(stream).asJava)
  }

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = scrubbed {
    val answers = admin.describeTopics(streamIds).topicNameValues().asScala
    val found = new ju.LinkedHashMap[String, KafkaStream]
    streamIds.forEach { id =>
      try {
        asked(answers(id))
        val _ = found.put(id, stream(id))
      } catch { case _: UnknownTopicOrPartitionException => () }
    }
    found
  }

  override def isClusterActive(id: String): Boolean = id == clusterId

  override def close(): Unit = client.close()

  private def stream(topic: String): KafkaStream =
    new KafkaStream(topic, ju.Map.of(clusterId, ClusterMetadata.of(all.asJava).withTopics(ju.List.of(topic))))

  /** Kafka's messages have parts of a log-in that it cannot parse. */
  private def scrubbed[A](call: => A): A =
    try call
    catch { case NonFatal(e) => throw Redaction.scrub(e, all) }

  private def admin: Admin = client()
  private def asked[A](future: KafkaFuture[A]): A = Opening.answer(future, CallLimitMs)
}

private object SingleClusterMetadataService {

  private val CallTimeout = "default.api.timeout.ms"

  /** Only a safeguard: the timeout of the client, which the properties may set, is shorter. */
  private val CallLimitMs = 10 * 60 * 1000L

  /** The default time limit of one call, including the retries of the client. */
  private val RequestTimeoutMs = 30000L
}
