package io.github.dynamickafka.source

import scala.util.Using

import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  NextOffset,
  OffsetRange,
  Positions,
  Reconcile,
  Transition
}
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterQuestion, ClusterStreams}
import io.github.dynamickafka.source.read.{BatchPlanner, Decoding}
import io.github.dynamickafka.source.trigger.{
  DuplicateClusters,
  LossPolicy,
  TopicPatterns,
  UnansweredPartitions
}
import io.github.dynamickafka.topology.{ReplacedClusterPolicy, TopicDataset, Topology}

/**
 * A batch read from start to stopping offsets, with one poll of the metadata service and one request to each cluster.
 *
 * @param found gets the topics that are read, for lineage; other threads call what it gets
 */
private[source] final class DynamicBatch(
    options: SourceOptions,
    watcher: () => MetadataWatcher,
    open: () => ClusterStreams,
    planner: BatchPlanner,
    decoding: Option[Decoding],
    found: (() => Seq[TopicDataset]) => Unit
) extends Batch {

  private val log = LoggerFactory.getLogger(classOf[DynamicBatch])

  private lazy val planned: (Topology, Array[InputPartition]) = Using.resource(watcher()) { metadata =>
    val topology = metadata.awaitFirst()
    topology -> Using.resource(open())(plan(topology, _))
  }

  override def planInputPartitions(): Array[InputPartition] = planned._2

  override def createReaderFactory(): PartitionReaderFactory =
    new ReaderFactory(decoding.map(ClusterDecoding.of(_, options, Seq(planned._1))))

  private def plan(answer: Topology, streams: ClusterStreams): Array[InputPartition] = {
    answer.histories.foreach { case (stream, history) =>
      log.info("A batch read does not read the history of stream '{}' at '{}'", stream, history.path)
    }
    val configs = ClusterConfigs(options, answer.clusters.keySet.toSet)
    val ofClusters = answer.clusters.map { case (id, c) => id -> configs(id, c.properties) }
    streams.set(ofClusters)
    val topology = new TopicPatterns(-1, streams, Clock.System)
      .expand(answer, CompositeOffset.empty, c => ofClusters(c.id), pinned = true, superseded = _ => false)
      .fold(answer)(_._1)
    configs.checkFirst(topology)
    val rules = Reconcile.Rules(
      -1,
      drainRemoved = false,
      (id, _, topic, _) => configs.starting(id, topic),
      (id, topic) => configs.ending(id, topic)
    )
    val starts = Reconcile(CompositeOffset.empty, topology, now = 0L, rules)
    val views = ask(streams, starts)
    if (!options.allowDuplicateClusters) DuplicateClusters.refuse(starts, views)
    UnansweredPartitions(options.clusters, Clock.System)
      .judge(views, (id, topic) => topology.clusters(id).topics(topic).stream, waits = false)
    val advance = NextOffset(CompositeOffset.empty, starts, views, ReplacedClusterPolicy.Fail, _ => true)
    if (options.failOnDataLoss) {
      advance.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, topology.clusters(id).topics(topic).stream)
      }
    }
    val _ = new LossPolicy(
      options.failOnDataLoss,
      graceMs = 0L
    ).judge(advance.losses, now = 0L, waitForTopics = false)
    found(() =>
      advance.spans.map(s => s.cluster -> s.topic).distinct.flatMap { case (id, topic) =>
        val stream = topology.clusters(id).topics(topic).stream
        TopicDataset.of(ofClusters(id).bootstrapServers, id, topic, Some(stream))
      }
    )
    planner.partitions(
      OffsetRange.ofAll(advance),
      streams(_),
      (id, topic) => topology.clusters(id).topics(topic).stream
    )
  }

  private def ask(streams: ClusterStreams, transition: Transition): Map[String, ClusterView] =
    streams.ask(
      transition.clusters.map { case (id, work: ClusterTransition) =>
        id -> ClusterQuestion(
          work.topics,
          Positions.empty,
          work.entering,
          work.ending,
          work.only,
          complete = true
        )
      },
      superseded = _ => false
    ).getOrElse(Map.empty)
}
