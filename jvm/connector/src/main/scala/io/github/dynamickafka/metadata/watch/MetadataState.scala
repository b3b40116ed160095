package io.github.dynamickafka.metadata.watch

/**
 * What a watcher knows at one moment.
 *
 * @param topology the last good one; None before the first good answer
 * @param version counts the different topologies; 0 before the first
 * @param ageMs since the last good answer, or since the watcher was made where there was none
 * @param consecutiveFailures since the last good answer
 * @param fatal METADATA_UNAVAILABLE, once more failures came in a row than are tolerated; a success takes it back
 */
private[dynamickafka] final case class MetadataState[+T](
    topology: Option[T],
    version: Long,
    ageMs: Long,
    consecutiveFailures: Int,
    fatal: Option[Throwable]
)
