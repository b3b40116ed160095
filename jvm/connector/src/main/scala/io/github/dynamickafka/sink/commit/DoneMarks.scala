package io.github.dynamickafka.sink.commit

import java.util.concurrent.{ExecutionException, ExecutorService, Future, TimeUnit}

/**
 * Marks decisions as finished while Spark logs the end of the batch. Either of the two shows the next start that the batch is over, so
 * it makes no difference which one is there first, or alone.
 */
private[sink] final class DoneMarks(journal: Journal, threads: ExecutorService) {
  @volatile private var running: Option[Future[_]] = None

  def begin(entry: JournalEntry): Unit =
    running = Some(threads.submit((() => journal.finish(entry)): Runnable))

  /**
   * Waits for the mark of the last batch. Called before the next one, so that only the newest decision may be without its mark.
   *
   * @throws java.io.IOException if it could not be written
   */
  def await(): Unit = awaited { mark =>
    val _ = mark.get()
  }

  /**
   * Waits no longer than this time, in milliseconds.
   *
   * @throws java.util.concurrent.TimeoutException if the mark is still not written
   */
  def await(ms: Long): Unit = awaited { mark =>
    val _ = mark.get(ms, TimeUnit.MILLISECONDS)
  }

  private def awaited(get: Future[_] => Unit): Unit = running.foreach { mark =>
    try get(mark)
    catch {
      case e: ExecutionException =>
        running = None
        throw e.getCause
    }
    running = None
  }
}
