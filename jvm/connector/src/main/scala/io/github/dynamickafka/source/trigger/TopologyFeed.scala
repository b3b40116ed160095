package io.github.dynamickafka.source.trigger

import scala.util.Try

import org.slf4j.LoggerFactory

import io.github.dynamickafka.metadata.Topology
import io.github.dynamickafka.metadata.watch.MetadataWatcher

/**
 * Provides the topology of a trigger: the newest one of the watcher; after a restart, the last one in the checkpoint
 * until the metadata service responds; with `Trigger.AvailableNow`, the pinned one, with the addresses and other properties
 * of the newest one.
 *
 * Does not wait after the first answer (invariant 4 in `docs/dev/architecture.md`).
 *
 * @param remembered the last topology in the checkpoint, or an exception if it cannot be read
 * @param incomplete the clusters that the query cannot use with the properties in the checkpoint, because these contain no
 *                   secrets
 */
private[source] final class TopologyFeed(
    watcher: MetadataWatcher,
    remembered: () => Option[Topology],
    incomplete: Topology => Set[String] = _ => Set.empty
) extends AutoCloseable
    with LossGrace.Metadata {

  private val log = LoggerFactory.getLogger(classOf[TopologyFeed])
  private var started = false
  private var fallback: Option[Topology] = None
  private var pinned: Option[Topology] = None
  private var followed: Option[(Topology, Topology)] = None
  private var call = 0L
  private var used: Option[Topology] = None

  /** For the first start of a query: waits for the first valid answer. */
  def first(): Topology = {
    started = true
    watcher.awaitFirst()
  }

  /** @throws DynamicKafkaRuntimeException `METADATA_UNAVAILABLE` after more consecutive failures than are tolerated */
  def current(): Topology = pinned.map(withProperties).getOrElse {
    if (!started) resume()
    val state = watcher.current
    state.fatal.foreach(throw _)
    call = state.call
    val topology = state.topology.orElse(fallback).getOrElse(watcher.awaitFirst())
    used = Some(topology)
    topology
  }

  override def ask(): Option[Long] = if (pinned.isDefined) None else watcher.ask()

  /**
   * By the topology of the trigger: the newest one may have neither the topic nor the mark that it is not confirmed. What drains has to
   * be read although the metadata do not have it.
   */
  override def reads(cluster: String, topic: String, asked: Long): Boolean =
    call > asked && !used.exists(_.unconfirmed.get(cluster).exists(_(topic)))

  /** The topology that [[current]] would return now. Never throws. */
  def newest: Option[Topology] = pinned.map(withProperties).orElse(watcher.current.topology).orElse(fallback)

  /** Makes [[current]] always return the clusters and topics that it returns now, and returns these. */
  def pin(): Topology = {
    val topology = current()
    pinned = Some(topology)
    topology
  }

  /** An equal topology is the same object, because clients and options are resolved once for each object. */
  private def withProperties(topology: Topology): Topology =
    watcher.current.topology.filterNot(_ eq topology).fold(topology) { newest =>
      followed.collect { case (`newest`, result) => result }.getOrElse {
        val updated = topology.withPropertiesOf(newest)
        val result = followed.map { case (_, before) => before }.filter(_ == updated).getOrElse(updated)
        followed = Some(newest -> result)
        result
      }
    }

  def ageMs: Long = watcher.current.ageMs
  def failures: Int = watcher.current.consecutiveFailures

  override def close(): Unit = watcher.close()

  private def resume(): Unit = {
    started = true
    val before = Try(remembered())
    if (watcher.awaitFirstAttempt(before.toOption.flatten).isEmpty) {
      before.get.foreach { last =>
        val unusable = incomplete(last)
        if (unusable.isEmpty) {
          fallback = Some(last)
          log.warn(
            "The metadata service is unavailable; the query continues with the topology in its checkpoint"
          )
        } else log.warn(
          "The metadata service is unavailable; the query waits for it, because its checkpoint does not contain the " +
            "credentials of the clusters {}",
          unusable.toSeq.sorted.mkString(", ")
        )
      }
    }
  }
}
