package io.github.dynamickafka.metadata.watch

import io.github.dynamickafka.time.Clock

/**
 * The times of a watcher that are not options. Tests use shorter ones.
 *
 * @param retryCapMs the longest pause between the attempts of a first start
 * @param triesWithoutPolling the number of attempts if the discovery interval is -1
 * @param spacingWithoutPollingMs the pause between these attempts
 * @param confirmMs the longest pause between the first answers of a run, if they have to confirm a removal
 */
private[metadata] final case class WatcherTiming(
    retryCapMs: Long = 5000L,
    triesWithoutPolling: Int = 5,
    spacingWithoutPollingMs: Long = 1000L,
    confirmMs: Long = 1000L,
    clock: Clock = Clock.System
)

private[metadata] object WatcherTiming {
  val Default: WatcherTiming = WatcherTiming()
}
