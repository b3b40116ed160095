package io.github.dynamickafka.source.read

import java.util.concurrent.{ExecutionException, Executor, ExecutorService, Executors, FutureTask}

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader

import io.github.dynamickafka.base.DaemonThreads

/**
 * Reads the bundles of a [[SharedTask]], one after the other. Meanwhile, the next bundles open their consumers and wait
 * for their first records on other threads, because with distant clusters these waits dominate the time.
 *
 * A reader is handed over from such a thread to the thread of the task when its first records have arrived or it has
 * failed. The task fails with this error when the turn of the bundle comes. Closing ends pending fetches.
 *
 * @param threads the executor for the fetches, up to [[SharedTaskReader.Ahead]] at a time
 */
private[source] final class SharedTaskReader(
    task: SharedTask,
    pool: ConsumerPool,
    ahead: ReadAhead,
    threads: Executor,
    decoder: Option[TaskDecoder] = None,
    recordTimes: Option[TaskTimes] = None
) extends PartitionReader[InternalRow] {
  import SharedTaskReader._

  private val metrics = new ReaderMetrics
  private val readers =
    task.bundles.map(new BundleReader(_, pool, ahead, metrics, decoder, recordTimes)).toIndexedSeq
  // Finds the classes in the properties of the user.
  private val loader = Thread.currentThread.getContextClassLoader
  private val fetches = readers.map(reader =>
    new FutureTask[Unit](() => {
      Thread.currentThread.setContextClassLoader(loader)
      reader.fetch()
    })
  )
  private var begun = 0
  private var current = -1
  @volatile private var closed = false

  override def next(): Boolean = (current >= 0 && readers(current).next()) || advance()

  override def get(): InternalRow = readers(current).get()

  override def currentMetricsValues(): Array[CustomTaskMetric] = metrics.values

  override def close(): Unit = {
    closed = true
    readers.foreach(_.close())
  }

  @tailrec
  private def advance(): Boolean =
    if (closed || current + 1 == readers.size) false
    else {
      current += 1
      val until = math.min(readers.size, current + 1 + Ahead)
      fetches.slice(begun, until).foreach(threads.execute(_))
      begun = until
      // Throws if the task is interrupted; Spark then closes this reader.
      try fetches(current).get()
      catch { case e: ExecutionException => throw e.getCause }
      readers(current).next() || advance()
    }
}

private[source] object SharedTaskReader {

  /**
   * The number of bundles that are fetched while another one is read. Each may use as much memory as a separate task.
   */
  val Ahead = 7

  /** The threads of this JVM; each terminates after a minute without work. */
  lazy val threads: ExecutorService = Executors.newCachedThreadPool(new DaemonThreads("dynamic-kafka-fetch"))
}
