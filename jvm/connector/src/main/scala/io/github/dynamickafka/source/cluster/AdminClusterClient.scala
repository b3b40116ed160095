package io.github.dynamickafka.source.cluster

import java.time.Duration
import java.util.concurrent.CompletableFuture
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

/** A [[ClusterClient]] with Kafka's admin client. Opening it resolves addresses, which may block or fail. */
private[dynamickafka] final class AdminClusterClient(properties: Map[String, String]) extends ClusterClient {
  private val admin = Admin.create(new ju.HashMap[String, AnyRef](properties.asJava))

  override def clusterId: CompletableFuture[String] = future(admin.describeCluster().clusterId())

  override def topics: CompletableFuture[Set[String]] =
    future(admin.listTopics().names()).thenApply[Set[String]](_.asScala.toSet)

  override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    admin.describeTopics(topics.asJava).topicNameValues.asScala.toMap.map { case (topic, description) =>
      topic -> future(description).thenApply[TopicAnswer] { found =>
        val leaders = found.partitions.asScala.map { p =>
          p.partition -> Option(p.leader).filterNot(_.isEmpty).map(_.id)
        }
        // Brokers without topic ids give a zero id.
        TopicAnswer(leaders.toMap, Option(found.topicId).filterNot(_ == Uuid.ZERO_UUID).map(_.toString))
      }
    }

  override def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] = {
    val result = admin.listOffsets(specs.asJava, new ListOffsetsOptions(isolation))
    specs.keysIterator.map { tp =>
      tp -> future(result.partitionResult(tp)).thenApply[ListedOffset] { found =>
        // Brokers without epochs give none, or -1.
        ListedOffset(
          found.offset,
          found.leaderEpoch.toScala.map(_.toLong).filter(_ >= 0),
          Option(found.timestamp).filter(_ >= 0)
        )
      }
    }.toMap
  }

  override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
    future(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata)
      .thenApply[Map[TopicPartition, Long]](_.asScala.collect {
        case (tp, found) if found != null => tp -> found.offset
      }.toMap)

  override def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] = {
    val positions = offsets.map { case (tp, at) => tp -> new OffsetAndMetadata(at) }
    val result = admin.alterConsumerGroupOffsets(group, positions.asJava)
    offsets.keysIterator.map(tp =>
      tp -> future(result.partitionResult(tp)).thenApply[Unit](_ => ())
    ).toMap
  }

  override def close(): Unit = admin.close(Duration.ZERO)

  /** A future that can be completed by a time limit, which Kafka's own and all that are derived from them cannot. */
  private def future[A](f: KafkaFuture[A]): CompletableFuture[A] = {
    val own = new CompletableFuture[A]
    f.whenComplete { (value, error) =>
      val _ = if (error == null) own.complete(value) else own.completeExceptionally(error)
    }
    own
  }
}
