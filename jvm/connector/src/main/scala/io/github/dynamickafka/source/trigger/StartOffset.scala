package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.{SourceOptionSpecs, SourceOptions}
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
    topology.histories.keys.headOption.filter(_ => options.alignment.isDefined).foreach { stream =>
      // Kafka's records of a cluster without history would come after those of the history, and be late.
      throw Errors.invalidOption(
        SourceOptionSpecs.Alignment.name,
        "timestamp",
        s"stream '$stream' has a 'history', which is read before all records of Kafka. Start the query without this option, and " +
          "restart it with the option when 'pendingHistoryFiles' is 0."
      )
    }
    val history = Option.when(topology.histories.nonEmpty)(histories(topology))
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
}
