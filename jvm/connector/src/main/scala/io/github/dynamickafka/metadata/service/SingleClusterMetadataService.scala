package io.github.dynamickafka.metadata.service

import java.util.concurrent.{ExecutionException, TimeUnit}
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.Admin
import org.apache.kafka.common.KafkaFuture
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException

import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.metadata.document.DocumentParts
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaMetadataService, KafkaStream}

/**
 * Each topic of one cluster is a stream of the same name. Answers come from the cluster itself.
 *
 * @param properties Kafka client properties beside the bootstrap servers, without the `kafka.` prefix
 */
final class SingleClusterMetadataService(
    clusterId: String,
    bootstrapServers: String,
    properties: ju.Map[String, String]
) extends KafkaMetadataService {

  def this(clusterId: String, bootstrapServers: String) = this(clusterId, bootstrapServers, ju.Map.of())

  private val all: ju.Map[String, String] = {
    val copy = new ju.LinkedHashMap[String, String](properties)
    copy.put(DocumentParts.Bootstrap, bootstrapServers)
    copy
  }

  private var client: Option[Admin] = None

  override def getAllStreams(): ju.Set[KafkaStream] = {
    val topics = asked(admin().listTopics().names())
    new ju.LinkedHashSet(topics.asScala.toSeq.sorted.map(stream).asJava)
  }

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val answers = admin().describeTopics(streamIds).topicNameValues().asScala
    val found = new ju.LinkedHashMap[String, KafkaStream]
    streamIds.asScala.foreach { id =>
      val exists =
        try {
          asked(answers(id))
          true
        } catch { case _: UnknownTopicOrPartitionException => false }
      if (exists) found.put(id, stream(id))
    }
    found
  }

  override def isClusterActive(id: String): Boolean = id == clusterId

  override def close(): Unit = synchronized {
    client.foreach(_.close(java.time.Duration.ofSeconds(1)))
    client = None
  }

  private def stream(topic: String): KafkaStream =
    new KafkaStream(topic, ju.Map.of(clusterId, new ClusterMetadata(ju.List.of(topic), all)))

  /** Opened by the first call, on the thread that may wait for it. */
  private def admin(): Admin = synchronized {
    client.getOrElse {
      val config = ClientDefaults.admin(all.asScala.toMap, SingleClusterMetadataService.RequestTimeoutMs)
      val created = Admin.create((config: Map[String, AnyRef]).asJava)
      client = Some(created)
      created
    }
  }

  private def asked[A](future: KafkaFuture[A]): A =
    try future.get(SingleClusterMetadataService.CallLimitMs, TimeUnit.MILLISECONDS)
    catch { case e: ExecutionException => throw e.getCause }
}

private object SingleClusterMetadataService {

  /** A guard only: the client's own limit, which the properties may set, ends a call before. */
  private val CallLimitMs = 10 * 60 * 1000L

  /** One call may take so long, with the client's own retries, where the properties don't say otherwise. */
  private val RequestTimeoutMs = 30000L
}
