package io.github.dynamickafka

import java.lang.management.ManagementFactory
import java.time.Duration
import java.util.concurrent.{Callable, Executors}
import java.{util => ju}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.management.OperatingSystemMXBean
import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.ByteArrayDeserializer

/**
 * Reads topics with nothing but Kafka's client: `BareConsumer <threads> <partitions> <rounds> <property=value,...>
 * <bootstrap servers/topic/records>...`. Each cluster has the same number of records in each partition, and its partitions
 * are divided between the threads. Prints JSON for each round: nanoseconds from the first to the last record, those from
 * making the consumers to closing them, and the CPU time of the process in the latter.
 */
object BareConsumer {

  /** When a thread got its first and its last record. */
  private final case class Seen(first: Long, last: Long)

  private final case class Source(bootstrap: String, topic: String, records: Long)

  def main(args: Array[String]): Unit = {
    val Array(threads, partitions, rounds) = args.take(3).map(_.toInt)
    val properties = args(3).split(',').filter(_.nonEmpty).map(_.split("=", 2)).map(p => p(0) -> p(1)).toMap
    val sources = args.drop(4).map(_.split('/')).map(s => Source(s(0), s(1), s(2).toLong)).toSeq
    val pool = Executors.newCachedThreadPool()
    val mapper = new ObjectMapper
    val system = ManagementFactory.getPlatformMXBean(classOf[OperatingSystemMXBean])
    (1 to rounds).foreach { _ =>
      val (begin, cpu) = (System.nanoTime(), system.getProcessCpuTime)
      // A thread for each cluster, or several for one.
      val parts = sources.flatMap { source =>
        val readers = math.max(1, threads / sources.size)
        (0 until readers).map(i => (source, (0 until partitions).filter(_ % readers == i)))
      }
      val tasks = parts.map { case (source, partitionsOfSource) =>
        new Callable[Seen] {
          override def call(): Seen = read(
            source,
            partitionsOfSource,
            source.records * partitionsOfSource.size / partitions,
            properties
          )
        }
      }
      val seen = pool.invokeAll(tasks.asJava).asScala.map(_.get)
      val node = mapper.createObjectNode().put("total_nanos", System.nanoTime() - begin)
        .put("cpu_nanos", system.getProcessCpuTime - cpu)
        .put("reading_nanos", seen.map(_.last).max - seen.map(_.first).min)
        .put("records", sources.map(_.records).sum)
      println(mapper.writeValueAsString(node))
    }
    pool.shutdown()
  }

  private def read(
      source: Source,
      partitions: Seq[Int],
      expected: Long,
      properties: Map[String, String]
  ): Seen = {
    val settings = new ju.HashMap[String, AnyRef](properties.asJava)
    settings.put("bootstrap.servers", source.bootstrap)
    val consumer = new KafkaConsumer(settings, new ByteArrayDeserializer, new ByteArrayDeserializer)
    try {
      val assigned = partitions.map(new TopicPartition(source.topic, _)).asJava
      consumer.assign(assigned)
      consumer.seekToBeginning(assigned)
      var (count, first) = (0L, 0L)
      while (count < expected) {
        val found = consumer.poll(Duration.ofSeconds(30)).count
        if (found == 0)
          throw new IllegalStateException(s"$source has $count of $expected records in $partitions")
        if (count == 0) first = System.nanoTime()
        count += found
      }
      Seen(first, System.nanoTime())
    } finally consumer.close()
  }
}
