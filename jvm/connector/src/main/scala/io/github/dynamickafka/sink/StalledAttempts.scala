package io.github.dynamickafka.sink

import java.util.concurrent.atomic.AtomicBoolean

import org.apache.spark.scheduler._

/**
 * Whether Spark has started a second attempt of any task or has lost an executor, so that a first attempt may still run
 * when its batch is over. Spark reports this within a moment, and a set of ids is used again in the batch after the next
 * one, so a late report is in time.
 */
private[sink] final class StalledAttempts extends SparkListener {
  private val isFound = new AtomicBoolean

  override def onTaskStart(start: SparkListenerTaskStart): Unit =
    if (start.stageAttemptId > 0 || start.taskInfo.attemptNumber > 0 || start.taskInfo.speculative)
      isFound.set(true)

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = isFound.set(true)

  /** Since the last call. */
  def found(): Boolean = isFound.getAndSet(false)
}
