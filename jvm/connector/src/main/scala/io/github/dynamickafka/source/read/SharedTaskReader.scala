package io.github.dynamickafka.source.read

import java.util.concurrent.{ExecutionException, Executor, ExecutorService, Executors, FutureTask}

import scala.annotation.tailrec

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.PartitionReader

/**
 * Reads the bundles of a [[SharedTask]], one after the other. While one is read, the next ones open their consumers and
 * wait for their first records on threads of their own: with distant clusters these waits are nearly all of the time.
 *
 * A bundle's reader goes from such a thread to the task's when its first records are there, or its error, which is the
 * task's when its turn comes. Closing ends what is under way.
 *
 * @param threads for one bundle each, up to [[SharedTaskReader.Ahead]] at a time
 */
private[source] final class SharedTaskReader(task: SharedTask, pool: ConsumerPool, threads: Executor)
    extends PartitionReader[InternalRow] {
  import SharedTaskReader._

  private val metrics = new ReaderMetrics
  private val readers = task.bundles.map(new BundleReader(_, pool, metrics)).toIndexedSeq
  // Classes that the user's properties name are found through it.
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
      // Throws when the task is interrupted; Spark closes this reader then.
      try fetches(current).get()
      catch { case e: ExecutionException => throw e.getCause }
      readers(current).next() || advance()
    }
}

private[source] object SharedTaskReader {

  /** Bundles that are fetched while another one is read. Each can hold as much memory as a task of its own. */
  val Ahead = 7

  /** Those of this JVM; each ends after a minute without work. */
  lazy val threads: ExecutorService = Executors.newCachedThreadPool { task =>
    val thread = new Thread(task, "dynamic-kafka-fetch")
    thread.setDaemon(true)
    thread
  }
}
