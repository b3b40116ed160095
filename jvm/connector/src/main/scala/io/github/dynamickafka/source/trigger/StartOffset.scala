package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.ClusterView
import io.github.dynamickafka.source.checkpoint.{InitialOffset, SourceCheckpoint}

/** Determines the start offset of batch 0: once, and durable before it is returned to Spark. */
private[source] final class StartOffset(
    options: SourceOptions,
    snapshots: TriggerSnapshots,
    checkpoint: SourceCheckpoint
) {
  private val log = LoggerFactory.getLogger(classOf[StartOffset])

  /** The one in the checkpoint, or the one that is determined now. */
  def get(): InitialOffset = {
    checkpoint.refusePlainKafka()
    checkpoint.initial.getOrElse(determine())
  }

  private def determine(): InitialOffset = {
    val snapshot = snapshots.forStart()
    if (options.failOnDataLoss) {
      snapshot.next.waiting.headOption.foreach { case (id, topic) =>
        throw Errors.topicNotFound(id, topic, snapshot.topology.clusters(id).topics(topic).stream)
      }
    }
    val offset = snapshot.position
    val unresolved = snapshot.views.collect { case (id, ClusterView.Unreachable) => id }.toSet
    val initial = InitialOffset(offset, unresolved, snapshot.unansweredTopics)
    checkpoint.remember(snapshot.topology, offset)
    checkpoint.writeInitial(initial)
    log.info("The query starts at {}", offset.json)
    initial
  }
}
