package io.github.dynamickafka.format

import org.apache.spark.TaskContext

/** What a task closes at its end. */
private[format] object TaskResource {

  /** Does nothing without a task: the caller closes. */
  def closeAtEnd(resource: AutoCloseable): Unit =
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => resource.close()))
}
