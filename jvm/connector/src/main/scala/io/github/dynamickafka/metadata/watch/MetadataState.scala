package io.github.dynamickafka.metadata.watch

import io.github.dynamickafka.topology.Topology

/**
 * A snapshot of the state of a watcher.
 *
 * @param topology the last valid topology; None before the first one
 * @param version the number of different topologies so far; 0 before the first one
 * @param ageMs milliseconds since the last successful poll, or since the creation of the watcher before the first one
 * @param consecutiveFailures the number of failures since the last successful poll
 * @param fatal METADATA_UNAVAILABLE, if there are more consecutive failures than are tolerated; a successful poll
 *              resets it
 * @param call the number of the call of the service that gave the topology; 0 before the first one
 */
private[dynamickafka] final case class MetadataState(
    topology: Option[Topology],
    version: Long,
    ageMs: Long,
    consecutiveFailures: Int,
    fatal: Option[Throwable],
    call: Long
)
