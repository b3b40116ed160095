package io.github.dynamickafka.source

import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.metadata.service.ServiceRegistry

/**
 * A query over the stream `orders`: its metadata, its checkpoint and its rows. Its metadata service is polled
 * every 50 ms.
 *
 * @param defaults options of all queries that do not set them
 */
final class Scene(spark: SparkSession, val folder: Path, defaults: Map[String, String] = Map.empty)
    extends AutoCloseable {
  val service = new EntryService
  val results = new Results(folder.resolve("checkpoint"))
  private val handle = ServiceRegistry.register(service)
  private val queries = ConcurrentHashMap.newKeySet[StreamingQuery]()

  def seen: Seq[Seen] = results.seen

  /** Defines the stream `orders` from now on. */
  def orders(entries: Entry*): Unit = service.streams = Map("orders" -> entries)

  /** Same; returns once the connector uses the new definition. */
  def change(entries: Entry*): Unit = {
    orders(entries: _*)
    service.awaitAnswers()
  }

  def options(more: (String, String)*): Map[String, String] = {
    val chosen = more.toMap
    val subscription = if (chosen.contains("streamPattern")) Nil else Seq("streamIds" -> "orders")
    defaults ++ Map(
      "metadataService" -> "registered",
      "metadataService.handle" -> handle,
      "streamMetadataDiscoveryIntervalMs" -> "50"
    ) ++ subscription ++ chosen
  }

  def frame(more: (String, String)*): DataFrame =
    spark.readStream.format("dynamic-kafka").options(options(more: _*)).load()

  def batch(more: (String, String)*): DataFrame =
    spark.read.format("dynamic-kafka").options(options(more: _*)).load()

  /** Runs until it is stopped, which is when the scene is closed at the latest. */
  def start(more: (String, String)*): StreamingQuery = started(results.start(frame(more: _*)))

  def start(trigger: Trigger, more: (String, String)*): StreamingQuery =
    started(results.start(frame(more: _*), trigger))

  /** Reads all available records, and terminates. */
  def catchUp(more: (String, String)*): Unit = {
    val query = start(Trigger.AvailableNow(), more: _*)
    if (!query.awaitTermination(300000)) throw new AssertionError("AvailableNow does not end")
  }

  /** Leaves the checkpoint as a crash before the last commit does: the next start repeats the last batch. */
  def crashBeforeLastCommit(): Unit = results.uncommit()

  def metrics(query: StreamingQuery): Map[String, String] =
    Option(query.lastProgress).fold(Map.empty[String, String])(_.sources.head.metrics.asScala.toMap)

  private def started(query: StreamingQuery): StreamingQuery = {
    queries.add(query)
    query
  }

  override def close(): Unit = {
    service.behave = () => ()
    queries.forEach(_.stop())
    ServiceRegistry.unregister(handle)
  }
}
