package io.github.dynamickafka.source

import scala.collection.immutable.SortedMap
import scala.util.Using

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{MetadataWatcher, Topology}
import io.github.dynamickafka.offset.{
  Advance,
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  OffsetRange,
  OffsetsPolicy,
  Positions,
  Reconcile,
  Transition
}

/** A read from start to end, with one answer of the metadata service and one look at each cluster. */
private[source] final class DynamicBatch(
    options: SourceOptions,
    configs: ClusterConfigs,
    watcher: () => MetadataWatcher,
    open: () => ClusterStreams,
    planner: BatchPlanner
) extends Batch {

  private lazy val partitions: Array[InputPartition] = Using.resource(watcher()) { metadata =>
    val topology = metadata.awaitFirst()
    Using.resource(open())(plan(topology, _))
  }

  override def planInputPartitions(): Array[InputPartition] = partitions

  override def createReaderFactory(): PartitionReaderFactory = ReaderFactory

  private def plan(topology: Topology, streams: ClusterStreams): Array[InputPartition] = {
    val known = topology.clusters.keySet.toSet
    streams.set(configs.all(topology))
    val rules =
      Reconcile.Rules(-1, drainRemoved = false, (id, _, topic, _) => configs.starting(id, known, topic))
    val starts = Reconcile(CompositeOffset.empty, topology, now = 0L, rules)
    val views = ask(streams, starts)
    val advance = Advance(CompositeOffset.empty, starts, views)
    if (options.failOnDataLoss) {
      advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, topology.clusters(id).topics(topic).stream)
      }
    }
    new LossPolicy(
      options.failOnDataLoss,
      graceMs = 0L
    ).judge(advance.losses, now = 0L, waitForTopics = false)
    val stops = endings(topology, streams)
    val ranges = advance.spans.groupBy(_.cluster).map { case (id, spans) =>
      id -> spans.map { s =>
        val stop = stops.get(id).flatMap(_.get(s.topic, s.partition)).getOrElse(s.end)
        OffsetRange(s.topic, s.partition, s.from, math.max(s.from, math.min(s.end, stop)))
      }.filter(_.size > 0)
    }.filter(_._2.nonEmpty)
    planner.partitions(
      SortedMap.from(ranges),
      topology.clusters.keys.toSeq,
      streams(_),
      (id, topic) => topology.clusters(id).topics(topic).stream
    )
  }

  /** Where reading stops in clusters whose end is not simply their latest offset. */
  private def endings(topology: Topology, streams: ClusterStreams): Map[String, Positions] = {
    val known = topology.clusters.keySet.toSet
    configs.checkEnding(known)
    val rules =
      Reconcile.Rules(
        -1,
        drainRemoved = false,
        (id, _, topic, _) =>
          configs.ending(id, known, topic).getOrElse(OffsetsPolicy.Latest)
      )
    val all = Reconcile(CompositeOffset.empty, topology, now = 0L, rules)
    val other = all.clusters.filter(_._2.entering.valuesIterator.exists(_ != OffsetsPolicy.Latest))
    if (other.isEmpty) Map.empty
    else ask(streams, all.copy(clusters = other)).collect { case (id, view: ClusterView.Reachable) =>
      id -> view.entering
    }
  }

  private def ask(streams: ClusterStreams, transition: Transition): Map[String, ClusterView] =
    streams.ask(
      transition.clusters.map { case (id, work: ClusterTransition) =>
        id -> ClusterQuestion(work.topics, Positions.empty, work.entering)
      },
      superseded = _ => false
    ).getOrElse(Map.empty)
}
