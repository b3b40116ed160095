package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.time.Duration
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{CopyOnWriteArrayList, ExecutionException}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.{Consumer, KafkaConsumer}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors.{InterruptException, WakeupException}
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, StringSerializer}
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, Errors}
import io.github.dynamickafka.kafka.ClientDefaults
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.document.{
  DocumentRecords,
  DocumentTree,
  EditRefused,
  JsonText,
  MetadataDocument
}
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

/**
 * Keeps what a topic with one partition contains, on a thread of its own, until it is closed.
 *
 * @param properties of the consumer
 * @param changed runs on this thread after records have been added, but not before the topic has been read once
 */
private[service] final class TopicReader(
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

private[service] object TopicReader {
  private val log = LoggerFactory.getLogger(classOf[TopicReader])
  private val RetryMs = 1000L

  /** Records end the wait. */
  private val Wait = Duration.ofSeconds(1)

  private final case class Known(records: TopicRecords, position: Long)
}

/**
 * The newest record of each stream in a compacted topic. Immutable. Pure.
 *
 * @param topic for texts: the topic, and where it is
 */
private[service] final case class TopicRecords(
    topic: String,
    entries: Map[String, TopicRecords.Entry] = Map.empty
) {
  import TopicRecords._

  /** @param value null removes the stream */
  def add(streamId: String, value: String, offset: Long): TopicRecords =
    if (value == null) copy(entries = entries - streamId)
    else copy(entries = entries.updated(streamId, entry(streamId, value, offset)))

  private lazy val checked = MetadataDocument.check(joined(_ => true))

  /** The streams that can be used, as one document. */
  def document: DocumentTree = joined(!invalid.contains(_))

  /** Where records differ about a cluster, the newest one holds. */
  private def joined(include: String => Boolean): DocumentTree =
    DocumentRecords.joined(
      entries.toSeq.collect { case (id, e: Good) if include(id) => e }.sortBy(_.offset).map(_.document)
    )

  /** The streams whose newest record is valid, and also together with the clusters of the other ones. */
  lazy val streams: Map[String, KafkaStream] = checked.streams -- invalid.keys

  /** The streams whose newest record cannot be used, with the reason. */
  lazy val invalid: Map[String, DynamicKafkaIllegalArgumentException] = {
    val together = for (problem <- checked.errors; stream <- problem.place.stream)
      yield stream -> Errors.metadataInvalid(
        s"$topic, ${problem.place.names.mkString(", ")}",
        s"${problem.reason}. Each record is valid, but not together with the clusters of the other ones"
      )
    entries.collect { case (id, Bad(reason)) => id -> reason } ++ together
  }

  private def entry(streamId: String, value: String, offset: Long): Entry = {
    val where = s"the record at offset $offset of $topic, stream '$streamId'"
    def fail(reason: String) = throw Errors.metadataInvalid(where, reason)
    try {
      val document = JsonText.read(value).getOrElse(fail("it is not JSON in the format of the metadata file"))
      if (!document.isInstanceOf[DocumentTree.Mapping]) fail("it is not a JSON object")
      val found = MetadataDocument.accepted(MetadataDocument.check(document), where)
      if (found.keys.toSeq != Seq(streamId)) fail("it must contain exactly the stream of its key")
      val clusters = found(streamId).getClusterMetadataMap
      DocumentRecords.clusters(document).find(!clusters.containsKey(_))
        .foreach(id => fail(s"the stream does not have its cluster '$id'"))
      Good(document, offset)
    } catch { case e: DynamicKafkaIllegalArgumentException => Bad(e) }
  }
}

private[service] object TopicRecords {
  sealed trait Entry
  final case class Good(document: DocumentTree, offset: Long) extends Entry
  final case class Bad(reason: DynamicKafkaIllegalArgumentException) extends Entry
}

/** New records for a topic with metadata: what they are, and how they are written. */
private[service] object TopicEdits {

  /** By stream id; None removes the stream. */
  type Values = Map[String, Option[String]]

  /**
   * The records that an edit of all streams as one document changes.
   *
   * @throws EditRefused if the edit does
   */
  def of(before: TopicRecords, change: String => String): Values = {
    val text = JsonText.write(before.document)
    val edited =
      try change(text)
      catch {
        case e: EditRefused if before.invalid.nonEmpty =>
          val unread = before.invalid.keys.toSeq.sorted.mkString("'", "', '", "'")
          throw new EditRefused(s"${e.getMessage} The newest records of these streams are not valid: $unread")
      }
    val known = DocumentRecords.split(text)
    DocumentRecords.split(edited).collect {
      case (id, value) if !known.get(id).contains(value) => id -> Some(value)
    }
  }

  /**
   * The records of a valid file.
   *
   * @param only these streams; empty: all
   * @param removed streams of the topic that the file does not have
   * @throws EditRefused if a stream is unknown
   */
  def published(file: String, only: Seq[String], removed: Seq[String]): Values = {
    val found = DocumentRecords.split(file)
    only.find(!found.contains(_)).foreach(id =>
      throw new EditRefused(s"there is no stream '$id'; the streams are ${found.keys.mkString(", ")}")
    )
    removed.find(found.contains).foreach(id =>
      throw new EditRefused(s"stream '$id' is in the file: remove it there first")
    )
    found.filter(s => only.isEmpty || only.contains(s._1)).map { case (id, value) => id -> Some(value) } ++
      removed.map(_ -> None)
  }

  /**
   * What the topic says with these records.
   *
   * @throws EditRefused if a stream could not be read any more, on which its queries would stand still
   */
  def after(before: TopicRecords, values: Values): TopicRecords = {
    val result = values.foldLeft(before) { case (records, (id, value)) =>
      records.add(id, value.orNull, Long.MaxValue)
    }
    (result.invalid.keySet -- before.invalid.keySet ++ values.keySet.intersect(
      result.invalid.keySet
    )).toSeq.sorted
      .headOption.foreach { id =>
        val reason = result.invalid(id).getMessageParameters.get("reason")
        throw new EditRefused(s"queries that read stream '$id' would stand still: $reason")
      }
    result
  }

  /** Throws what Kafka says if a record is not written. */
  def write(topic: String, chosen: Map[String, String], values: Values, timeoutMs: Long): Unit = {
    val fixed = Map(
      "acks" -> "all",
      "enable.idempotence" -> "true",
      "linger.ms" -> "0",
      "request.timeout.ms" -> timeoutMs.toString,
      "delivery.timeout.ms" -> timeoutMs.toString,
      "max.block.ms" -> timeoutMs.toString
    )
    val properties = new ju.HashMap[String, AnyRef]((ClientDefaults.producer(chosen) ++ fixed).asJava)
    val text = new StringSerializer
    Using.resource(new KafkaProducer(properties, text, text)) { producer =>
      val sent = values.toSeq.map { case (id, value) =>
        producer.send(new ProducerRecord(topic, 0, id, value.orNull))
      }
      sent.foreach(_.get(timeoutMs, MILLISECONDS))
    }
  }
}
