package io.github.dynamickafka.testkit

import java.nio.file.{FileAlreadyExistsException, Files, Path, StandardCopyOption}

/**
 * Injects a fault into a Spark task at one row. It is called by SQL, so that it does not depend on Spark:
 * `java_method('io.github.dynamickafka.testkit.TaskFaults', 'once', value, 'the row', 'hang', '/the/marker')`.
 */
object TaskFaults {
  private val LookEveryMs = 50L

  /**
   * Affects the first attempt that reaches the row, over all processes: the marker is a file, and `<marker>.pid`
   * contains the id of the affected process.
   *
   * @param fault `fail`; `hang`: until a file `<marker>.go` exists or the task is killed; `race`: like `hang`, and the
   *              second attempt, with a marker `<marker>.second`, until it is killed
   * @return a value that does not change the row
   */
  def once(row: String, at: String, fault: String, marker: String): String = {
    if (row == at)
      if (mark(marker)) fault match {
        case "fail" => throw new IllegalStateException(s"the test fails this task at '$at'")
        case "hang" | "race" => hangUntil(s"$marker.go")
      }
      else if (fault == "race" && mark(s"$marker.second")) hangUntil(s"$marker.never")
    ""
  }

  private def hangUntil(go: String): Unit =
    // The file belongs to another process and is the only way to communicate with it.
    try while (!Files.exists(Path.of(go))) Thread.sleep(LookEveryMs)
    catch {
      case e: InterruptedException =>
        // Like in a task that is killed while it computes: the thread stays interrupted.
        Thread.currentThread().interrupt()
        throw e
    }

  private def mark(marker: String): Boolean =
    try {
      val made = Files.createFile(Path.of(marker))
      // Written atomically, because a test waits for the file.
      val text = Files.createTempFile(made.getParent, "pid", null)
      val _ = Files.writeString(text, ProcessHandle.current().pid().toString)
      val _ = Files.move(text, Path.of(s"$marker.pid"), StandardCopyOption.ATOMIC_MOVE)
      true
    } catch { case _: FileAlreadyExistsException => false }
}
