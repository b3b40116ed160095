package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.ClusterView
import io.github.dynamickafka.offset.history.{HandOver, HistoryPlan}
import io.github.dynamickafka.source.checkpoint.{InitialOffset, SourceCheckpoint}
import io.github.dynamickafka.topology.Topology

/**
 * Determines the start offset of batch 0, and what is read before Kafka: once, and durable before it is returned to Spark.
 *
 * @param histories lists the histories of a topology
 */
private[source] final class StartOffset(
    options: SourceOptions,
    feed: TopologyFeed,
    snapshots: TriggerSnapshots,
    checkpoint: SourceCheckpoint,
    histories: Topology => HistoryPlan
) {
  private val log = LoggerFactory.getLogger(classOf[StartOffset])

  /** The one in the checkpoint, or the one that is determined now. */
  def get(): InitialOffset = {
    checkpoint.refusePlainKafka()
    checkpoint.initial.getOrElse(determine())
  }

  private def determine(): InitialOffset = {
    val topology = feed.first()
    val history = Option.when(topology.histories.nonEmpty)(histories(topology))
    history.foreach(logLongFiles)
    val snapshot = snapshots.forStart(history.fold(HandOver.none)(_.handOver))
    if (options.failOnDataLoss) {
      snapshot.next.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, snapshot.topology.clusters(id).topics(topic).stream)
      }
    }
    val offset = history.fold(snapshot.position)(plan => snapshot.position.copy(history = plan.nothing))
    val unresolved = snapshot.views.collect { case (id, ClusterView.Unreachable) => id }.toSet
    val initial = InitialOffset(offset, unresolved, snapshot.unansweredTopics, history)
    checkpoint.remember(snapshot.topology, offset)
    checkpoint.writeInitial(initial)
    log.info("The query starts at {}", offset.json)
    initial
  }

  /** A file is read as a whole, so that its cluster is read ahead of others by the times of its records. */
  private def logLongFiles(history: HistoryPlan): Unit = for {
    alignment <- options.alignment
    (stream, table) <- history.tables
    longest <- table.files.maxByOption(file => file.greatest - file.least)
    spanMs = longest.greatest - longest.least if spanMs >= alignment.maxDriftMs
  } log.warn(
    "Records of the file '{}' of the history of stream '{}' are up to {} ms apart, more than 'alignmentMaxDrift': a file is read as a " +
      "whole, so that a watermark with a delay of up to this time can drop records",
    longest.path,
    stream,
    spanMs
  )
}
