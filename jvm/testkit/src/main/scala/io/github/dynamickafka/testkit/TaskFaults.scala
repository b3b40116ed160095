package io.github.dynamickafka.testkit

import java.nio.file.{FileAlreadyExistsException, Files, Path, StandardCopyOption}

/**
 * What a test lets go wrong in a task of Spark, at one row. SQL calls it, so that it needs nothing of Spark:
 * `java_method('io.github.dynamickafka.testkit.TaskFaults', 'once', value, 'the row', 'hang', '/the/marker')`.
 */
object TaskFaults {
  private val LookEveryMs = 50L

  /**
   * Hits the first attempt that comes to the row, over all processes: the marker is a file, and `<marker>.pid` tells the
   * process id of who was hit.
   *
   * @param fault `fail`; `hang`: until there is a file `<marker>.go`, or the task is killed; `race`: as `hang`, and the
   *              second attempt, with a marker `<marker>.second`, until it is killed
   * @return nothing to see in the row
   */
  def once(row: String, at: String, fault: String, marker: String): String = {
    if (row == at)
      if (mark(marker)) fault match {
        case "fail" => throw new IllegalStateException(s"the test lets this task fail at '$at'")
        case "hang" | "race" => hangUntil(s"$marker.go")
      }
      else if (fault == "race" && mark(s"$marker.second")) hangUntil(s"$marker.never")
    ""
  }

  private def hangUntil(go: String): Unit =
    // The file is of another process, which can tell this one nothing else.
    try while (!Files.exists(Path.of(go))) Thread.sleep(LookEveryMs)
    catch {
      case e: InterruptedException =>
        // As in a task that is killed while it computes: who comes next finds the thread interrupted.
        Thread.currentThread().interrupt()
        throw e
    }

  private def mark(marker: String): Boolean =
    try {
      val made = Files.createFile(Path.of(marker))
      // Whole or not at all, for who waits for it.
      val text = Files.createTempFile(made.getParent, "pid", null)
      val _ = Files.writeString(text, ProcessHandle.current().pid().toString)
      val _ = Files.move(text, Path.of(s"$marker.pid"), StandardCopyOption.ATOMIC_MOVE)
      true
    } catch { case _: FileAlreadyExistsException => false }
}
