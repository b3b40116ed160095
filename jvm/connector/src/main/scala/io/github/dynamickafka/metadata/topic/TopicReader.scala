package io.github.dynamickafka.metadata.topic

import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.consumer.{Consumer, KafkaConsumer}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{InterruptException, WakeupException}
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.slf4j.LoggerFactory

/**
 * Keeps what a topic with one partition contains, on a thread of its own, until it is closed.
 *
 * @param properties of the consumer
 * @param changed runs on this thread after records have been added, but not before the topic has been read once
 */
private[topic] final class TopicReader(
    topic: String,
    shown: String,
    properties: Map[String, String],
    changed: () => Unit
) extends AutoCloseable {
  import TopicReader._

  private val partition = new TopicPartition(topic, 0)

  /** What was there when the topic had been read once, or later. */
  private var known: Option[Known] = None
  private var consumer: Option[Consumer[Array[Byte], Array[Byte]]] = None
  private var failure: Option[Throwable] = None
  @volatile private var closed = false

  private val thread = new Thread(() => run(), "dynamic-kafka-metadata-topic")
  thread.setDaemon(true)
  thread.start()

  /**
   * What the records before this offset say, also later ones.
   *
   * @throws Throwable the failure of the reader, if the records have not been read at the end of the time limit
   */
  def await(end: Long, limitMs: Long): TopicRecords = synchronized {
    val deadline = System.nanoTime() + limitMs * 1000000L
    while (!known.exists(_.position >= end)) {
      val rest = (deadline - System.nanoTime()) / 1000000L
      if (closed) throw new IllegalStateException("the metadata service is closed")
      if (rest <= 0)
        throw failure.getOrElse(new ju.concurrent.TimeoutException(s"$shown was not read within $limitMs ms"))
      wait(rest)
    }
    known.get.records
  }

  override def close(): Unit = {
    closed = true
    synchronized {
      consumer.foreach(_.wakeup())
      notifyAll()
    }
  }

  private def run(): Unit =
    while (!closed)
      try read()
      catch {
        case _: WakeupException | _: InterruptException => ()
        case NonFatal(e) =>
          if (!closed) {
            log.debug(s"$shown cannot be read", e)
            synchronized {
              failure = Some(e)
              wait(RetryMs)
            }
          }
      }

  /** Reads the topic from its beginning, so that nothing remains of one that was deleted and created again. */
  private def read(): Unit = {
    val all = new ju.HashMap[String, AnyRef](properties.asJava)
    val own = new KafkaConsumer(all, new ByteArrayDeserializer, new ByteArrayDeserializer)
    try {
      synchronized { consumer = Some(own) }
      own.assign(ju.List.of(partition))
      own.seekToBeginning(ju.List.of(partition))
      val until = own.endOffsets(ju.List.of(partition)).get(partition).longValue
      var records = TopicRecords(shown)
      while (!closed) {
        val found = own.poll(Wait).records(partition).asScala
        records = found.foldLeft(records)((before, record) =>
          if (record.key == null) before else before.add(text(record.key), text(record.value), record.offset)
        )
        val position = own.position(partition)
        if (position >= until) publish(records, position, found.nonEmpty)
      }
    } finally {
      synchronized { consumer = None }
      own.close(Duration.ZERO)
    }
  }

  private def publish(records: TopicRecords, position: Long, isNew: Boolean): Unit = {
    val again = synchronized {
      val before = known
      known = Some(Known(records, position))
      failure = None
      notifyAll()
      before.isDefined && isNew
    }
    if (again) changed()
  }

  private def text(bytes: Array[Byte]) = if (bytes == null) null else new String(bytes, UTF_8)
}

private[topic] object TopicReader {
  private val log = LoggerFactory.getLogger(classOf[TopicReader])
  private val RetryMs = 1000L

  /** Records end the wait. */
  private val Wait = Duration.ofSeconds(1)

  private final case class Known(records: TopicRecords, position: Long)
}
