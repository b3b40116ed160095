package io.github.dynamickafka.metadata.topic

import java.io.IOException
import java.time.Duration
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{CopyOnWriteArrayList, ExecutionException}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.{DocumentMetadataService, EditableService}
import io.github.dynamickafka.redaction.Redaction

/**
 * Reads the streams from a compacted Kafka topic with one partition. The key of a record is a stream id. Its value is a document
 * in the JSON format of the metadata file, with exactly this stream and its clusters; null removes the stream. Where records
 * differ about a cluster, the newest one holds.
 *
 * A new record is applied at once, whatever the discovery interval is. Each call also asks the broker for the end of the topic,
 * and waits until the records before it have been read, so that a topic that cannot be read is a failure.
 *
 * Failures of a call are `IOException`s and METADATA_INVALID. The topic has to have one partition and `cleanup.policy=compact`.
 *
 * @param properties further client properties of the cluster with this topic, without the prefix `kafka.`. Values may contain
 *                   Kafka's references `\${file:/path:key}`, `\${env:NAME}` and `\${dir:/path:file}`
 * @param timeoutMs the time limit of a call in milliseconds
 */
private[dynamickafka] final class KafkaTopicMetadataService(
    bootstrapServers: String,
    topic: String,
    properties: Map[String, String],
    timeoutMs: Long
) extends DocumentMetadataService
    with EditableService {
  import KafkaTopicMetadataService._

  private val shown = s"the Kafka topic '$topic' at $bootstrapServers"
  private val chosen = properties + ("bootstrap.servers" -> bootstrapServers)
  private val listeners = new CopyOnWriteArrayList[Runnable]
  private var open: Option[Open] = None

  override protected def read(): MetadataDocument = {
    val now = records()
    MetadataDocument(now.streams, now.invalid)
  }

  override def onChange(changed: Runnable): AutoCloseable = {
    listeners.add(changed)
    () => {
      val _ = listeners.remove(changed)
    }
  }

  /** The records of the streams that change are written; a record that somebody else writes at the same time may be replaced. */
  private[dynamickafka] override def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream]) = {
    val before = records()
    before.streams -> write(before, TopicEdits.of(before, change)).streams
  }

  /**
   * Writes the streams of a valid file, or some of them.
   *
   * @param removed streams of the topic that the file does not have
   * @return the ids of the streams that were written
   * @throws EditRefused if a stream is unknown, or could not be read any more
   */
  private[dynamickafka] def publish(file: String, only: Seq[String], removed: Seq[String]): Seq[String] = {
    val values = TopicEdits.published(file, only, removed)
    val _ = write(records(), values)
    values.collect { case (id, Some(_)) => id }.toSeq
  }

  private def write(before: TopicRecords, values: TopicEdits.Values): TopicRecords = {
    val after = TopicEdits.after(before, values)
    if (values.nonEmpty)
      try TopicEdits.write(topic, chosen, values, timeoutMs)
      catch { case NonFatal(e) => throw failure("written", e) }
    after
  }

  override def close(): Unit = synchronized(shut())

  override def toString: String = s"KafkaTopicMetadataService($topic at $bootstrapServers)"

  private def records(): TopicRecords = synchronized {
    val deadline = System.nanoTime() + timeoutMs * 1000000L
    def rest = math.max(1L, (deadline - System.nanoTime()) / 1000000L)
    try {
      val admin = open.getOrElse(begin()).admin
      val (id, end) = ask(admin, () => rest)
      // Another topic of this name.
      if (open.exists(_.topicId.exists(_ != id))) shut()
      val current = open.getOrElse(begin())
      open = Some(current.copy(topicId = Some(id)))
      current.reader.await(end, rest)
    } catch {
      case e: DynamicKafkaIllegalArgumentException => throw e
      case e: InterruptedException => throw e
      case NonFatal(e) =>
        // The next call resolves the references again.
        shut()
        throw failure("read", e)
    }
  }

  private def failure(what: String, e: Throwable): IOException = {
    val cause = e match {
      case wrapped: ExecutionException if wrapped.getCause != null => wrapped.getCause
      case other => other
    }
    new IOException(s"$shown cannot be $what", Redaction.scrub(cause, chosen - "bootstrap.servers"))
  }

  private def begin(): Open = {
    val admin = Admin.create(client(ClientDefaults.admin(chosen, timeoutMs)))
    val reader =
      new TopicReader(
        topic,
        shown,
        ClientDefaults.consumer(chosen) ++ Fixed,
        () => listeners.forEach(_.run())
      )
    val made = Open(admin, reader, None)
    open = Some(made)
    made
  }

  private def client(properties: Map[String, String]) = new ju.HashMap[String, AnyRef](properties.asJava)

  /** The id of the topic and its end. */
  private def ask(admin: Admin, rest: () => Long): (Uuid, Long) = {
    def get[A](future: KafkaFuture[A]): A = future.get(rest(), MILLISECONDS)
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
    val description = admin.describeTopics(ju.List.of(topic)).allTopicNames
    val configuration = admin.describeConfigs(ju.List.of(resource)).all
    val partition = new TopicPartition(topic, 0)
    val end =
      admin.listOffsets(ju.Map.of(partition, OffsetSpec.latest()), Committed).partitionResult(partition)
    val found = get(description).get(topic)
    if (found.partitions.size != 1)
      throw Errors.metadataInvalid(shown, s"it has ${found.partitions.size} partitions instead of one")
    val policy = get(configuration).get(resource).get("cleanup.policy").value
    if (policy != "compact")
      throw Errors.metadataInvalid(shown, s"its cleanup.policy is '$policy' instead of 'compact'")
    (found.topicId, get(end).offset)
  }

  private def shut(): Unit = {
    open.foreach { o =>
      o.reader.close()
      o.admin.close(Duration.ZERO)
    }
    open = None
  }
}

private object KafkaTopicMetadataService {
  private val Committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "earliest",
    "isolation.level" -> "read_committed",
    "allow.auto.create.topics" -> "false"
  )

  private final case class Open(admin: Admin, reader: TopicReader, topicId: Option[Uuid])
}
