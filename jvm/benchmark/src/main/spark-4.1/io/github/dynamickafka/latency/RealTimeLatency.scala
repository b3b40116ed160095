package io.github.dynamickafka.latency

import java.lang.management.ManagementFactory
import java.nio.file.Files
import java.util.concurrent.locks.LockSupport

import scala.reflect.io.Directory

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode
import com.sun.management.OperatingSystemMXBean
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, ForeachWriter, Row, SparkSession}

import io.github.dynamickafka.{DynamicKafka, FileMetadataService, OffsetsInitializer}

/**
 * Measures how long after a record was sent its reader has it. Requests, by their field `command`:
 *
 *   - `start`: a `reader`, which is `product` or `builtin`, in real-time mode, or `raw`, and a `sink`: `foreach`, or `kafka`, which is a
 *     topic that a consumer reads
 *   - `await`: until this number of records was seen
 *   - `percentiles` of the records of `clusters` that were sent in a period
 *   - `cores` in use by this process for a time
 *   - `stop`
 */
object RealTimeLatency {
  private val Duration = "5 minutes"
  private val TimeoutNanos = 60L * 1000 * 1000 * 1000

  private lazy val spark = {
    val session = SparkSession.builder().getOrCreate()
    session.sparkContext.setLogLevel("FATAL")
    session
  }
  private var query: Option[StreamingQuery] = None
  private var open = Seq.empty[AutoCloseable]

  def main(args: Array[String]): Unit = {
    Conversation.run { request =>
      request.get("command").asText match {
        case "start" => start(request)
        case "await" => await(request.get("records").asInt)
        case "percentiles" => percentiles(request)
        case "cores" => cores(request.get("seconds").asDouble)
        case "stop" => stop()
      }
    }
    spark.stop()
  }

  private def start(request: JsonNode): ObjectNode = {
    Latencies.running = new Latencies
    System.gc()
    val clusters = Conversation.texts(request.get("bootstrap"))
    val (topic, partitions) = (request.get("topic").asText, request.get("partitions").asInt)
    val toKafka = request.get("sink").asText == "kafka"
    val copies = s"$topic-copies"
    def seen(value: Array[Byte]): Unit = Latencies.running.add(value)
    if (toKafka) opened(new RawReader(clusters.head, copies, partitions, seen))
    request.get("reader").asText match {
      case "raw" =>
        val each: Array[Byte] => Unit =
          if (toKafka) opened(new RawReader.Forward(clusters.head, copies)) else seen
        clusters.foreach(cluster => opened(new RawReader(cluster, topic, partitions, each)))
      case "builtin" =>
        val values = builtin(clusters.head, topic).select("value")
        val writer = values.writeStream
        begin(
          if (toKafka)
            writer.format("kafka").option("kafka.bootstrap.servers", clusters.head).option("topic", copies)
          else writer.foreach(new LatencyWriter)
        )
      case "product" =>
        val service = FileMetadataService(request.get("streams").asText)
        val values = DynamicKafka.builder(spark).setKafkaMetadataService(service).setStreamIds("bench")
          .setStartingOffsets(OffsetsInitializer.earliest()).setMetadataDiscoveryInterval(1000L).load()
          .select("value")
        begin(
          if (toKafka)
            DynamicKafka.writer(values).setKafkaMetadataService(service).setStreamId("copies").writeStream()
          else values.writeStream.foreach(new LatencyWriter)
        )
    }
    Conversation.answer()
  }

  private def builtin(bootstrap: String, topic: String): DataFrame =
    spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
      .option("startingOffsets", "earliest").load()

  private def begin(writer: DataStreamWriter[Row]): Unit = {
    val checkpoint = Files.createTempDirectory("dynamic-kafka-bench-")
    opened(new AutoCloseable {
      override def close(): Unit = {
        val _ = new Directory(checkpoint.toFile).deleteRecursively()
      }
    })
    query = Some(
      writer.outputMode("update").option("checkpointLocation", checkpoint.toString)
        .trigger(Trigger.RealTime(Duration)).start()
    )
  }

  /** The last one that was opened is closed first. */
  private def opened[A <: AutoCloseable](what: A): A = {
    open +:= what
    what
  }

  private def await(records: Int): ObjectNode = {
    val deadline = System.nanoTime() + TimeoutNanos
    while (Latencies.running.count < records) {
      query.flatMap(_.exception).foreach(throw _)
      if (System.nanoTime() > deadline) sys.error(s"${Latencies.running.count} of $records records were read")
      LockSupport.parkNanos(5000000L)
    }
    Conversation.answer().put("records", Latencies.running.count)
  }

  private def percentiles(request: JsonNode): ObjectNode =
    Latencies.running.percentiles(
      request.get("from").asLong,
      request.get("until").asLong,
      Conversation.texts(request.get("clusters")).map(_.toInt).toSet
    )

  /** For a fixed time, because it is a rate that is measured. */
  private def cores(seconds: Double): ObjectNode = {
    val system = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])
    val (used, begin) = (system.getProcessCpuTime, System.nanoTime())
    Thread.sleep((seconds * 1000).toLong)
    val passed = (System.nanoTime() - begin).toDouble
    Conversation.answer().put("cores", (system.getProcessCpuTime - used) / passed)
  }

  private def stop(): ObjectNode = {
    query.foreach(_.stop())
    query = None
    open.foreach(_.close())
    open = Nil
    Conversation.answer()
  }
}

/** User code of a query whose only column is `value`. */
private[latency] final class LatencyWriter extends ForeachWriter[Row] {
  override def open(partition: Long, epoch: Long): Boolean = true
  override def process(row: Row): Unit = Latencies.running.add(row.getAs[Array[Byte]](0))
  override def close(error: Throwable): Unit = ()
}
