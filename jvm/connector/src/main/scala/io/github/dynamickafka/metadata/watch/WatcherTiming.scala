package io.github.dynamickafka.metadata.watch

import io.github.dynamickafka.time.Clock

/**
 * The times of a watcher that are no options, so that tests need not wait for them.
 *
 * @param retryCapMs longest pause between the tries of a first start
 * @param triesWithoutPolling how often the service is asked where the discovery interval is -1
 * @param spacingWithoutPollingMs pause between these
 */
private[metadata] final case class WatcherTiming(
    retryCapMs: Long = 5000L,
    triesWithoutPolling: Int = 5,
    spacingWithoutPollingMs: Long = 1000L,
    clock: Clock = Clock.System
)

private[metadata] object WatcherTiming {
  val Default: WatcherTiming = WatcherTiming()
}
