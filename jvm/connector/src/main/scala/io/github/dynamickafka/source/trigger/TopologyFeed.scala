package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.topology.Topology

/**
 * The topology that a trigger works with: the watcher's newest, the checkpoint's last known one while the
 * service has not answered since the restart, the pinned one under `Trigger.AvailableNow`.
 *
 * After the first answer nothing here waits (invariant 4).
 */
private[source] final class TopologyFeed(
    watcher: MetadataWatcher[Topology],
    remembered: () => Option[Topology]
) extends AutoCloseable {

  private val log = LoggerFactory.getLogger(classOf[TopologyFeed])
  private var started = false
  private var fallback: Option[Topology] = None
  private var pinned: Option[Topology] = None

  /** For a query that starts for the first time: nothing is known, so an answer is waited for. */
  def first(): Topology = {
    started = true
    watcher.awaitFirst()
  }

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` when the service has failed too often in a row */
  def current(): Topology = pinned.getOrElse {
    if (!started) resume()
    val state = watcher.current
    state.fatal.foreach(throw _)
    state.topology.orElse(fallback).getOrElse(watcher.awaitFirst())
  }

  /** What [[current]] would be, if it were asked now. Never throws. */
  def newest: Option[Topology] = pinned.orElse(watcher.current.topology).orElse(fallback)

  /** From now on [[current]] is what it is now. */
  def pin(): Unit = pinned = Some(current())

  def ageMs: Long = watcher.current.ageMs
  def failures: Int = watcher.current.consecutiveFailures

  override def close(): Unit = watcher.close()

  private def resume(): Unit = {
    started = true
    if (watcher.awaitFirstAttempt().isEmpty) {
      fallback = remembered()
      if (fallback.isDefined) {
        log.warn(
          "The metadata service does not answer; the query goes on with the topology of its checkpoint"
        )
      }
    }
  }
}
