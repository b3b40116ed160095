package io.github.dynamickafka.source.read.missing

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.Loss
import io.github.dynamickafka.time.Clock

/** Tracks how long a cluster has returned no data, and what was missing meanwhile. */
private[read] final class Silence(clock: Clock) {
  private var from = clock.monotonicMs()
  private var looked = from
  private var suspected = Map.empty[TopicPartition, Loss]

  def broken(): Unit = {
    from = clock.monotonicMs()
    looked = from
    suspected = Map.empty
  }
  def lasts(ms: Long): Boolean = clock.monotonicMs() - from >= ms
  def isTimeToLook: Boolean = clock.monotonicMs() - looked >= Silence.LookEveryMs

  /**
   * What is missing in two consecutive checks: a broker that just started may not know all partitions, and a new leader
   * not yet the end of the log.
   */
  def again(missing: Map[TopicPartition, Loss]): Map[TopicPartition, Loss] = {
    looked = clock.monotonicMs()
    val sure = missing.filter { case (tp, loss) => suspected.get(tp).contains(loss) }
    suspected = missing
    sure
  }
}

private[read] object Silence {

  /** The interval between two checks whether the partitions still exist and contain their ranges. */
  private val LookEveryMs = 3000L
}
