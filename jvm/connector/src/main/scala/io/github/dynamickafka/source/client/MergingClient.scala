package io.github.dynamickafka.source.client

import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

/** A client that several users share: what they ask often is sent together, and the rest as they ask it. */
private[client] final class MergingClient(client: ClusterClient) extends ClusterClient {
  import MergingClient._

  private val ids = new MergedRequests[Unit, String](_ => Map(() -> client.clusterId))
  private val names = new MergedRequests[Unit, Set[String]](_ => Map(() -> client.topics))
  private val descriptions = new MergedRequests[String, TopicAnswer](client.describe)

  private val listings = {
    for { isolation <- IsolationLevel.values.toSeq; end <- Ends } yield {
      def send(tps: Set[TopicPartition]) = client.offsets(tps.iterator.map(_ -> end).toMap, isolation)
      (isolation, end: AnyRef) -> new MergedRequests[TopicPartition, ListedOffset](send)
    }
  }.toMap

  override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] =
    descriptions(topics)

  override def offsets(
      specs: Map[TopicPartition, OffsetSpec],
      isolation: IsolationLevel
  ): Map[TopicPartition, CompletableFuture[ListedOffset]] =
    specs.groupBy { case (_, spec) => endOf(spec) }.flatMap {
      case (Some(end), wanted) => listings((isolation, end))(wanted.keySet)
      case (None, wanted) => client.offsets(wanted, isolation)
    }

  override def clusterId: CompletableFuture[String] = ids(Set(()))(())
  override def topics: CompletableFuture[Set[String]] = names(Set(()))(())

  override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] =
    client.committed(group)
  override def commit(
      group: String,
      offsets: Map[TopicPartition, Long]
  ): Map[TopicPartition, CompletableFuture[Unit]] = client.commit(group, offsets)
  override def close(): Unit = client.close()
  override def abandon(): Unit = client.abandon()
}

private object MergingClient {

  /** Kafka's specifications have no equality. */
  private val Ends: Seq[OffsetSpec] = Seq(OffsetSpec.latest, OffsetSpec.earliest)

  private def endOf(spec: OffsetSpec): Option[OffsetSpec] = Ends.find(_.getClass == spec.getClass)
}
