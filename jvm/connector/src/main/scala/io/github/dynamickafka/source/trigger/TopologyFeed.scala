package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.topology.Topology

/**
 * Provides the topology of a trigger: the newest one of the watcher; after a restart, the last one in the checkpoint
 * until the metadata service responds; with `Trigger.AvailableNow`, the pinned one.
 *
 * Does not wait after the first answer (invariant 4 in `docs/dev/architecture.md`).
 */
private[source] final class TopologyFeed(
    watcher: MetadataWatcher[Topology],
    remembered: () => Option[Topology]
) extends AutoCloseable {

  private val log = LoggerFactory.getLogger(classOf[TopologyFeed])
  private var started = false
  private var fallback: Option[Topology] = None
  private var pinned: Option[Topology] = None

  /** For the first start of a query: waits for the first valid answer. */
  def first(): Topology = {
    started = true
    watcher.awaitFirst()
  }

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` after more consecutive failures than are tolerated */
  def current(): Topology = pinned.getOrElse {
    if (!started) resume()
    val state = watcher.current
    state.fatal.foreach(throw _)
    state.topology.orElse(fallback).getOrElse(watcher.awaitFirst())
  }

  /** The topology that [[current]] would return now. Never throws. */
  def newest: Option[Topology] = pinned.orElse(watcher.current.topology).orElse(fallback)

  /** Makes [[current]] always return the topology that it returns now. */
  def pin(): Unit = pinned = Some(current())

  def ageMs: Long = watcher.current.ageMs
  def failures: Int = watcher.current.consecutiveFailures

  override def close(): Unit = watcher.close()

  private def resume(): Unit = {
    started = true
    val before = remembered()
    if (watcher.awaitFirstAttempt(before).isEmpty) {
      fallback = before
      if (fallback.isDefined) {
        log.warn(
          "The metadata service is unavailable; the query continues with the topology in its checkpoint"
        )
      }
    }
  }
}
