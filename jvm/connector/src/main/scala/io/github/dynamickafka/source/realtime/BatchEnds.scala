package io.github.dynamickafka.source.realtime

import java.util.UUID
import java.{util => ju}

import scala.concurrent.Future
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._

import org.apache.spark.rpc.DynamicKafkaEndpoint

/**
 * Tells the tasks of a query that their batch has ended: an endpoint in the driver, to which the reply is late. Thread-safe.
 *
 * A question is the number of a batch; the reply, that it has ended. The negative number asks that it ends.
 *
 * @param requested called when a task asks that the batch ends
 * @param latencies gets what tasks report while the batch runs
 */
private[realtime] final class BatchEnds(requested: () => Unit, latencies: BatchLatencies)
    extends AutoCloseable {
  private val name = s"dynamic-kafka-${UUID.randomUUID()}"
  private var batch = 0L
  private var isRunning = false
  private var waiting = List.empty[Boolean => Unit]
  private val endpoint = DynamicKafkaEndpoint.open(name, reported => latencies.add(reported.asScala))(answer)

  /** A batch begins, whose tasks get this. */
  def begin(): BatchAddress = synchronized {
    batch += 1
    isRunning = true
    BatchAddress(name, batch)
  }

  /** The number of tasks of the batch that have asked for its end, and so run. */
  def tasks: Int = synchronized(waiting.size)

  /** The batch ends. */
  def end(): Unit = {
    val replies = synchronized {
      isRunning = false
      val all = waiting
      waiting = Nil
      all
    }
    replies.foreach(_(true))
  }

  private def answer(question: Long, reply: Boolean => Unit): Unit = {
    val isOver = synchronized {
      val over = !isRunning || math.abs(question) != batch
      if (!over && question > 0) waiting ::= reply
      over
    }
    if (isOver || question < 0) reply(isOver)
    if (!isOver && question < 0) requested()
  }

  override def close(): Unit = {
    end()
    endpoint.close()
  }
}

private[realtime] object BatchEnds {

  /** Longer than batches are, because a question has no cost while it waits. */
  private val Within = 24.hours

  /** Reports latencies of a batch to the driver. */
  def reporter(batch: BatchAddress): Iterable[(String, Array[Long])] => Unit = {
    val tell = DynamicKafkaEndpoint.teller(batch.endpoint)
    counts => tell(new ju.HashMap(counts.toMap.asJava))
  }

  /** Completed when the batch has ended. */
  def await(batch: BatchAddress): Future[Boolean] =
    DynamicKafkaEndpoint.ask(batch.endpoint, batch.batch, Within)

  /** Asks that the batch ends, because a range cannot be read further. */
  def request(batch: BatchAddress): Future[Boolean] =
    DynamicKafkaEndpoint.ask(batch.endpoint, -batch.batch, Within)
}
