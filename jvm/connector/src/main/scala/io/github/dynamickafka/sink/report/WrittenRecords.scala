package io.github.dynamickafka.sink.report

import org.apache.spark.util.AccumulatorV2

/**
 * What tasks have written, by cluster, where Spark passes no message of a task to the driver. It does not add up: the driver gets the
 * value of each task that has finished.
 *
 * @param onTask called on a thread of Spark, in the driver
 */
private[sink] final class WrittenRecords(@transient private val onTask: Map[String, Written] => Unit)
    extends AccumulatorV2[Map[String, Written], Map[String, Written]] {
  private var ofTask = Map.empty[String, Written]

  override def add(written: Map[String, Written]): Unit = ofTask = written
  override def merge(task: AccumulatorV2[Map[String, Written], Map[String, Written]]): Unit =
    if (!task.isZero) onTask(task.value)
  override def value: Map[String, Written] = ofTask
  override def isZero: Boolean = ofTask.isEmpty
  override def reset(): Unit = ofTask = Map.empty
  override def copy(): WrittenRecords = {
    val copied = new WrittenRecords(onTask)
    copied.ofTask = ofTask
    copied
  }
}
