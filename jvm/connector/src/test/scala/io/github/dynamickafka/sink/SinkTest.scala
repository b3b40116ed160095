package io.github.dynamickafka.sink

import java.nio.file.Path

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.sink.commit.ResumableProducer.Handle
import io.github.dynamickafka.sink.commit.{CommitProbe, CommitStep, Prepared, TransactionPool}
import io.github.dynamickafka.source.{Entry, EntryService, SourceTest}
import io.github.dynamickafka.testkit.{KafkaCluster, StoredRecord}

/** Base of the sink's suites: real brokers, a session, and streams to write to. */
trait SinkTest extends SourceTest {

  /** Runs the body with streams of its own, and stops its queries afterwards. */
  def target[A](body: Target => A): A = {
    val target = new Target(newFolder())
    try body(target)
    finally target.close()
  }

  /** The records that `read_committed` readers see. */
  def committed(cluster: KafkaCluster, topic: String): Seq[StoredRecord] =
    cluster.dump(topic, committedOnly = true)

  /** The values that `read_committed` readers see. Waits for open transactions to end, but not forever. */
  def values(cluster: KafkaCluster, topic: String): Seq[String] = {
    val _ = cluster.awaitTransactionsEnded(topic)
    committed(cluster, topic).map(_.value).sorted
  }

  /** Runs a query that dies at a step of its next commit, as its driver could. */
  def dying(step: String)(start: => StreamingQuery): Unit =
    probed(new CommitProbe {
      override def oneByOne: Boolean = true
      override def reached(now: CommitStep, batch: Long): Unit =
        if (now.name == step) throw new IllegalStateException("died")
    }) {
      val query = start
      waitFor(s"the end at '$step'")(query.exception.isDefined)
    }

  /** The queries and jobs that start in the body get this probe. */
  private[sink] def probed[A](probe: CommitProbe)(body: => A): A = {
    CommitProbe.installed = probe
    try body
    finally CommitProbe.installed = CommitProbe.NoOp
  }

  /** Aborts a prepared transaction, as Kafka does after its timeout. */
  private[sink] def expire(cluster: KafkaCluster, transaction: Prepared): Unit = {
    val settings =
      new ProducerSettings(transaction.cluster, Map("bootstrap.servers" -> cluster.bootstrapServers))
    val producer = TransactionPool.shared.acquire(settings)
    producer.abort(transaction.transactionalId, Handle(transaction.producerId, transaction.epoch))
    producer.kill()
  }

  /** Rows with `key` and `value`; the keys are `k0` to `k9` in turn. */
  def rows(from: Int, until: Int): DataFrame =
    spark.range(
      from.toLong,
      until.toLong
    ).selectExpr("concat('k', id % 10) as key", "cast(id as string) as value")
}

/** The destination of a test: its metadata, and the checkpoint of its query. */
final class Target(folder: Path) extends AutoCloseable {
  val service = new EntryService
  private val handle = ServiceRegistry.register(service)
  private var queries = Seq.empty[StreamingQuery]

  val checkpoint: Path = folder.resolve("checkpoint")

  /** Defines the stream `out` from now on. */
  def out(entries: Entry*): Unit = streams("out" -> entries)

  def streams(all: (String, Seq[Entry])*): Unit = service.streams = all.toMap

  /** Same as [[out]]; returns once the connector has received the new answer. */
  def change(entries: Entry*): Unit = {
    out(entries: _*)
    service.awaitAnswers()
  }

  def options(more: (String, String)*): Map[String, String] = Map(
    "metadataService" -> "registered",
    "metadataService.handle" -> handle,
    "streamMetadataDiscoveryIntervalMs" -> "50",
    "streamId" -> "out"
  ) ++ more

  /** With a folder for the journals of jobs, unless `more` has one. */
  def save(frame: DataFrame, more: (String, String)*): Unit = {
    val journals = "checkpointLocation" -> folder.resolve("jobs").toString
    frame.write.format("dynamic-kafka").options(options(journals +: more: _*)).mode("append").save()
  }

  def start(frame: DataFrame, more: (String, String)*): StreamingQuery =
    start(frame, Trigger.ProcessingTime(0L), more: _*)

  def start(frame: DataFrame, trigger: Trigger, more: (String, String)*): StreamingQuery = {
    val query = frame.writeStream.format("dynamic-kafka").options(options(more: _*))
      .option("checkpointLocation", checkpoint.toString).trigger(trigger).start()
    queries :+= query
    query
  }

  /** Writes all available records, and terminates. */
  def catchUp(frame: DataFrame, more: (String, String)*): StreamingQuery = {
    val query = start(frame, Trigger.AvailableNow(), more: _*)
    if (!query.awaitTermination(300000L)) throw new AssertionError("AvailableNow does not end")
    query
  }

  override def close(): Unit = {
    service.behave = () => ()
    queries.foreach(_.stop())
    ServiceRegistry.unregister(handle)
  }
}
