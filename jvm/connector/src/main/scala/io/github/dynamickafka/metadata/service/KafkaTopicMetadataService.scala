package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.time.Duration
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{ExecutionException, TimeoutException}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.{Admin, ListOffsetsOptions, OffsetSpec}
import org.apache.kafka.clients.consumer.{Consumer, KafkaConsumer}
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.config.ConfigResource
import org.apache.kafka.common.errors.InterruptException
import org.apache.kafka.common.serialization.{StringDeserializer, StringSerializer}
import org.apache.kafka.common.{IsolationLevel, KafkaFuture, TopicPartition, Uuid}

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.config.MetadataServiceSpecs
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

/**
 * Reads the streams from a compacted Kafka topic with one partition. The key of a record is a stream id. Its value is a document
 * in the JSON format of the metadata file, with exactly this stream and its clusters; null removes the stream. Where records
 * differ about a cluster, the newest one holds.
 *
 * Each call reads what was added to the topic. A new record is noticed at once, whatever the discovery interval is. Failures of a call
 * are `IOException`s and METADATA_INVALID. The topic has to have one partition and `cleanup.policy=compact`.
 */
private[dynamickafka] final class KafkaTopicMetadataService(arguments: ServiceArguments)
    extends DocumentMetadataService
    with Watched
    with EditableService {
  import KafkaTopicMetadataService._

  private val bootstrapServers = arguments(MetadataServiceSpecs.TopicServers)
  private val topic = arguments(MetadataServiceSpecs.Topic)
  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs)
  override protected val shown: String = s"the Kafka topic '$topic' at $bootstrapServers"
  private val chosen = arguments.underPrefix + ("bootstrap.servers" -> bootstrapServers)
  private val partition = new TopicPartition(topic, 0)
  private val partitions = ju.List.of(partition)
  private val clients = new Opened(new Clients)(_.close())

  override protected def read(): Map[String, KafkaStream] = {
    val now = records()
    now.streams ++ now.invalid.map { case (id, reason) => id -> KafkaStream.invalid(id, reason) }
  }

  override protected def await(working: () => Unit, changed: () => Unit): Unit = {
    val own = reader()
    try {
      own.seekToEnd(partitions)
      own.position(partition)
      working()
      changed()
      while (true) if (!own.poll(Wait).isEmpty) changed()
    } finally end(own)
  }

  /** The records of the streams that change are written; a record that somebody else writes at the same time may be replaced. */
  private[dynamickafka] override def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream]) = {
    val before = records()
    before.streams -> write(before, before.edited(change)).streams
  }

  /**
   * Writes the streams of a valid file, or some of them.
   *
   * @param removed streams of the topic that the file does not have
   * @return the ids of the streams that were written
   * @throws EditRefused if a stream is unknown, or could not be read any more
   */
  private[dynamickafka] def publish(file: String, only: Seq[String], removed: Seq[String]): Seq[String] = {
    val values = TopicRecords.published(file, only, removed)
    val _ = write(records(), values)
    values.collect { case (id, Some(_)) => id }.toSeq
  }

  private def write(before: TopicRecords, values: TopicRecords.Values): TopicRecords = {
    val after = before.after(values)
    if (values.nonEmpty)
      try
        Using.resource(new KafkaProducer(client(ClientDefaults.producer(chosen) ++ written), text, text)) {
          producer =>
            values.toSeq.map { case (id, value) =>
              producer.send(new ProducerRecord(topic, 0, id, value.orNull))
            }
              .foreach(_.get(timeoutMs, MILLISECONDS))
        }
      catch { case NonFatal(e) => throw failure("written", e) }
    after
  }

  private def written = Map("acks" -> "all", "enable.idempotence" -> "true", "linger.ms" -> "0") ++
    Seq("request.timeout.ms", "delivery.timeout.ms", "max.block.ms").map(_ -> timeoutMs.toString)

  override def close(): Unit = synchronized(clients.close())

  override def toString: String = s"KafkaTopicMetadataService($topic at $bootstrapServers)"

  private def records(): TopicRecords = synchronized {
    val deadline = System.nanoTime() + timeoutMs * 1000000L
    def rest = math.max(1L, (deadline - System.nanoTime()) / 1000000L)
    try {
      val range = ask(clients().admin, () => rest)
      val before = clients()
      // Another topic of this name, or one that has lost its newest records, is read from its beginning.
      if (before.topicId.exists(_ != range.id) || before.position > range.end) clients.close()
      val now = clients()
      now.topicId = Some(range.id)
      while (now.position < range.end) {
        if (System.nanoTime() >= deadline)
          throw new TimeoutException(s"$shown was not read within $timeoutMs ms")
        now.consumer.poll(Duration.ofMillis(math.min(rest, 1000L))).records(partition).forEach { record =>
          if (record.key != null) now.records = now.records.add(record.key, record.value, record.offset)
        }
      }
      now.records = now.records.from(range.begin)
      now.records
    } catch {
      case e: DynamicKafkaIllegalArgumentException => throw e
      case NonFatal(e) =>
        // The next call resolves the references again.
        clients.close()
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

  private def reader(): Reader = {
    val made = new KafkaConsumer(client(ClientDefaults.consumer(Idle ++ chosen) ++ Fixed), texts, texts)
    made.assign(partitions)
    made
  }

  private def client(properties: Map[String, String]) = new ju.HashMap[String, AnyRef](properties.asJava)

  private def ask(admin: Admin, rest: () => Long): Range = {
    def get[A](future: KafkaFuture[A]): A = future.get(rest(), MILLISECONDS)
    val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
    val description = admin.describeTopics(ju.List.of(topic)).allTopicNames
    val configuration = admin.describeConfigs(ju.List.of(resource)).all
    def offset(which: OffsetSpec) =
      admin.listOffsets(ju.Map.of(partition, which), Committed).partitionResult(partition)
    val (begin, end) = (offset(OffsetSpec.earliest()), offset(OffsetSpec.latest()))
    val found = get(description).get(topic)
    if (found.partitions.size != 1)
      throw Errors.metadataInvalid(shown, s"it has ${found.partitions.size} partitions instead of one")
    val policy = get(configuration).get(resource).get("cleanup.policy").value
    if (policy != "compact")
      throw Errors.metadataInvalid(shown, s"its cleanup.policy is '$policy' instead of 'compact'")
    Range(found.topicId, get(begin).offset, get(end).offset)
  }

  private def end(reader: Reader): Unit =
    try reader.close(Duration.ZERO)
    catch { case _: InterruptException => () }

  /** What is open for the calls, and what it has read. */
  private final class Clients extends AutoCloseable {
    val admin: Admin = Admin.create(client(ClientDefaults.admin(chosen, timeoutMs)))
    val consumer: Reader =
      try reader()
      catch {
        case NonFatal(e) =>
          admin.close(Duration.ZERO)
          throw e
      }
    consumer.seekToBeginning(partitions)

    var topicId: Option[Uuid] = None
    var records: TopicRecords = TopicRecords(shown)
    def position: Long = consumer.position(partition)

    override def close(): Unit = {
      end(consumer)
      admin.close(Duration.ZERO)
    }
  }
}

private object KafkaTopicMetadataService {
  private type Reader = Consumer[String, String]

  private val (text, texts) = (new StringSerializer, new StringDeserializer)
  private val Committed = new ListOffsetsOptions(IsolationLevel.READ_COMMITTED)
  private val Fixed = Map(
    "enable.auto.commit" -> "false",
    "auto.offset.reset" -> "earliest",
    "isolation.level" -> "read_committed",
    "allow.auto.create.topics" -> "false"
  )

  /** Kafka's default: a fetch without records occupies neither the driver nor the broker. */
  private val Idle = Map("fetch.max.wait.ms" -> "500")

  /** Records end the wait. */
  private val Wait = Duration.ofSeconds(60)

  /** The topic now: its records are from one offset to before another one. */
  private final case class Range(id: Uuid, begin: Long, end: Long)
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

  /** Without records that have been deleted. */
  def from(offset: Long): TopicRecords = copy(entries = entries.filter(_._2.offset >= offset))

  /** @param value null removes the stream */
  def add(streamId: String, value: String, offset: Long): TopicRecords =
    if (value == null) copy(entries = entries - streamId)
    else copy(entries = entries.updated(streamId, entry(streamId, value, offset)))

  private lazy val checked = MetadataDocument.check(joined(entries))

  /** Where records differ about a cluster, the newest one holds. */
  private def joined(of: Map[String, Entry]): DocumentTree =
    DocumentRecords.joined(of.values.toSeq.sortBy(_.offset).flatMap(_.document.toOption))

  /** The streams whose newest record is valid, and also together with the clusters of the other ones. */
  lazy val streams: Map[String, KafkaStream] = checked.streams -- invalid.keys

  /** The streams whose newest record cannot be used, with the reason. */
  lazy val invalid: Map[String, DynamicKafkaIllegalArgumentException] = {
    val together = for (problem <- checked.errors; stream <- problem.place.stream)
      yield stream -> Errors.metadataInvalid(
        s"$topic, ${problem.place.shown.mkString}",
        s"${problem.reason}. Each record is valid, but not together with the clusters of the other ones"
      )
    entries.collect { case (id, Entry(_, Left(reason))) => id -> reason } ++ together
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
      Entry(offset, Right(document))
    } catch { case e: DynamicKafkaIllegalArgumentException => Entry(offset, Left(e)) }
  }

  /**
   * The records that an edit of all streams that can be used changes, as one document.
   *
   * @throws EditRefused if the edit does
   */
  def edited(change: String => String): Values = {
    val text = JsonText.write(joined(entries -- invalid.keys))
    val result =
      try change(text)
      catch {
        case e: EditRefused if invalid.nonEmpty =>
          val unread = invalid.keys.toSeq.sorted.mkString("'", "', '", "'")
          throw new EditRefused(s"${e.getMessage} The newest records of these streams are not valid: $unread")
      }
    val known = DocumentRecords.split(text)
    DocumentRecords.split(result).collect {
      case (id, value) if !known.get(id).contains(value) => id -> Some(value)
    }
  }

  /**
   * What the topic says with these records.
   *
   * @throws EditRefused if a stream could not be read any more, on which its queries would stand still
   */
  def after(values: Values): TopicRecords = {
    val result = values.foldLeft(this) { case (records, (id, value)) =>
      records.add(id, value.orNull, Long.MaxValue)
    }
    val refused = result.invalid.keySet.filter(id => values.contains(id) || !invalid.contains(id))
    refused.toSeq.sorted.headOption.foreach { id =>
      val reason = result.invalid(id).getMessageParameters.get("reason")
      throw new EditRefused(s"queries that read stream '$id' would stand still: $reason")
    }
    result
  }
}

private[service] object TopicRecords {

  /** @param document of a record that cannot be used, the reason */
  final case class Entry(offset: Long, document: Either[DynamicKafkaIllegalArgumentException, DocumentTree])

  /** New records by stream id; None removes the stream. */
  type Values = Map[String, Option[String]]

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
}
