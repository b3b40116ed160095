package io.github.dynamickafka.source

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.producer.{KafkaProducer, ProducerConfig, ProducerRecord}
import org.apache.kafka.common.serialization.{ByteArraySerializer, Serializer, StringSerializer}
import org.scalatest.Assertions.assert
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}
import org.scalatest.{BeforeAndAfterAll, BeforeAndAfterEach}

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, ScriptedService, StreamHistory}
import io.github.dynamickafka.testkit.{
  KafkaCluster,
  KafkaClusters,
  OnBrokers,
  Record,
  StoredRecord,
  TimeLimit
}

/**
 * Real brokers, shared by all suites of this JVM; each test uses topic names of its own.
 * `blue` and `green` always run; tests may kill, freeze and move `red`, and leave it running afterwards.
 */
trait Clusters extends AnyFunSuite with TimeLimit with OnBrokers with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(300, Seconds), interval = Span(100, Millis))

  def blue: KafkaCluster = Clusters.running(0)
  def green: KafkaCluster = Clusters.running(1)
  def red: KafkaCluster = Clusters.running(2)

  def waitFor(what: String)(c: => Boolean): Unit = {
    eventually(assert(c, s"not in time: $what"))
    ()
  }

  def elapsedMs(body: => Any): Long = {
    val from = System.nanoTime()
    body
    (System.nanoTime() - from) / 1000000L
  }

  def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-test-")

  /** A unique topic name. */
  def newTopic(prefix: String = "t"): String = s"$prefix-${UUID.randomUUID().toString.take(8)}"

  /** Creates a topic on each of these clusters, with the same unique name. */
  def newTopicOn(partitions: Int, clusters: KafkaCluster*): String = {
    val topic = newTopic()
    clusters.foreach(_.createTopic(topic, partitions))
    topic
  }

  def values(prefix: String, n: Int): Seq[String] = values(prefix, 0, n)

  def values(prefix: String, from: Int, until: Int): Seq[String] = (from until until).map(i => s"$prefix$i")

  /** Writes these values to the partitions in turn. */
  def produce(cluster: KafkaCluster, topic: String, partitions: Int, values: Seq[String]): Unit = {
    cluster.produce(topic, values.zipWithIndex.map { case (v, i) => Record(i % partitions, Some(v), v) })
    ()
  }

  /** Writes values that are no text to partition 0. */
  def produceBytes(cluster: KafkaCluster, topic: String, values: Array[Byte]*): Unit =
    Using.resource(producer(cluster, new ByteArraySerializer)) { to =>
      values.foreach(value => to.send(new ProducerRecord(topic, 0, null, value)).get)
    }

  /** A producer whose transactions the test begins and ends. */
  def transactional(cluster: KafkaCluster): KafkaProducer[String, String] = {
    val made = producer(
      cluster,
      new StringSerializer,
      ProducerConfig.TRANSACTIONAL_ID_CONFIG -> UUID.randomUUID().toString
    )
    made.initTransactions()
    made
  }

  private def producer[A](cluster: KafkaCluster, serializer: Serializer[A], more: (String, AnyRef)*) =
    new KafkaProducer(
      (Map[String, AnyRef]("bootstrap.servers" -> cluster.bootstrapServers) ++ more).asJava,
      serializer,
      serializer
    )

  /** All records of a topic of a cluster, as a query has to read them. */
  def stored(id: String, cluster: KafkaCluster, topic: String, stream: String = "orders"): Seq[Seen] =
    cluster.dump(topic).map(r => Seen(id, topic, r.partition, r.offset, r.value, stream))

  /** The records of a topic on blue and on green. */
  def storedOnBoth(topic: String): Seq[Seen] = stored("blue", blue, topic) ++ stored("green", green, topic)

  /** The records that `read_committed` readers see. */
  def committed(cluster: KafkaCluster, topic: String): Seq[StoredRecord] =
    cluster.dump(topic, committedOnly = true)

  /** The values that `read_committed` readers see. Waits for open transactions to end, but not forever. */
  def values(cluster: KafkaCluster, topic: String): Seq[String] = {
    val _ = cluster.awaitTransactionsEnded(topic)
    committed(cluster, topic).map(_.value).sorted
  }

  /** Runs the body while the cluster is down. */
  def killed[A](cluster: KafkaCluster)(body: => A): A = {
    cluster.kill()
    try body
    finally cluster.restart()
  }

  /** Runs the body while the cluster does not respond. */
  def frozen[A](cluster: KafkaCluster)(body: => A): A = {
    cluster.freeze()
    try body
    finally cluster.thaw()
  }
}

/** A cluster of three brokers, which all run again after each test. */
trait ThreeBrokers extends Clusters with BeforeAndAfterAll with BeforeAndAfterEach {
  protected lazy val three: KafkaCluster = KafkaCluster.start("three", nodes = 3)

  override def afterAll(): Unit = three.stop()

  /** A test that failed must not fail the next one. */
  override def afterEach(): Unit = {
    three.thaw()
    three.nodes.filterNot(_.isAlive).foreach(_.restart())
  }
}

object Clusters {
  lazy val running: Seq[KafkaCluster] = KafkaClusters.start("blue", "green", "red")
}

/** The entry of a cluster in a stream. */
final case class Entry(
    id: String,
    properties: Map[String, String],
    topics: Seq[String],
    state: String = ClusterMetadata.Active,
    starting: Option[String] = None,
    stopping: Option[String] = None,
    pattern: Option[String] = None,
    partitions: Map[String, Seq[Int]] = Map.empty,
    write: Boolean = true,
    format: Map[String, String] = Map.empty,
    replaced: Option[String] = None
) {
  def draining: Entry = copy(state = ClusterMetadata.Draining)
  def in(options: (String, String)*): Entry = copy(format = options.toMap)
  def replacing(id: String): Entry = copy(replaced = Some(id))
  def readOnly: Entry = copy(write = false)
  def startingAt(offsets: String): Entry = copy(starting = Some(offsets))
  def stoppingAt(offsets: String): Entry = copy(stopping = Some(offsets))
  def matching(regex: String): Entry = copy(topics = Nil, pattern = Some(regex))
  def only(some: (String, Seq[Int])*): Entry = copy(topics = Nil, partitions = some.toMap)
  def and(property: String, value: String): Entry = copy(properties = properties + (property -> value))

  def metadata: ClusterMetadata =
    ClusterMetadata(
      topics,
      properties,
      starting.orNull,
      stopping.orNull,
      state,
      pattern.orNull,
      partitions,
      write,
      format,
      replaced.orNull
    )
}

object Entry {
  def apply(id: String, cluster: KafkaCluster, topics: String*): Entry =
    at(id, cluster.bootstrapServers, topics: _*)

  def at(id: String, servers: String, topics: String*): Entry =
    new Entry(id, Map("bootstrap.servers" -> servers), topics)
}

/** A [[ScriptedService]] whose streams a test defines as entries; a change applies from the next call on. */
final class EntryService extends ScriptedService(() => Nil) {
  @volatile var streams: Map[String, Seq[Entry]] = Map.empty

  /** Options about the format of streams. */
  @volatile var formats: Map[String, Map[String, String]] = Map.empty

  @volatile var histories: Map[String, StreamHistory] = Map.empty

  /** Called in each call, before the answer: to fail, or to take time. */
  @volatile var behave: () => Unit = () => ()
  recovers()

  def callCount: Int = calls.get

  /** Answers again after it has failed or hung. */
  def recovers(): Unit = answer.set { () =>
    behave()
    streams.toSeq.map { case (id, entries) =>
      val format = formats.getOrElse(id, Map.empty[String, String])
      new KafkaStream(
        id,
        entries.map(e => e.id -> e.metadata).toMap.asJava,
        format.asJava,
        histories.get(id).orNull
      )
    }
  }

  /** Returns once the connector uses the answer that the service gives now. */
  def awaitAnswers(): Unit = {
    // The first call may be running already, what the second one lacks is confirmed by the third one, and the fourth one starts
    // after that one's answer is in use.
    val enough = calls.get + 4
    Eventually.eventually(Eventually.timeout(Span(300, Seconds)), Eventually.interval(Span(5, Millis))) {
      assert(calls.get >= enough, "the service is not called any more")
    }
    ()
  }
}

/** A metadata file that a test replaces atomically while a query runs. */
final class StreamsFile(folder: Path) {
  val path: Path = folder.resolve("streams.json")

  def write(streams: (String, Seq[Entry])*): Unit = {
    val clusters = streams.flatMap(_._2).map(e => e.id -> e.properties).toMap.map { case (id, properties) =>
      val all = properties.map { case (k, v) => s""""$k": "$v"""" }.mkString(", ")
      s""""$id": {"properties": {$all}}"""
    }
    val documents = streams.map { case (stream, entries) =>
      val of = entries.map { e =>
        val topics = e.topics.map(t => s""""$t"""").mkString(", ")
        val start = e.starting.fold("")(at => s""", "starting_offsets": "$at"""")
        s""""${e.id}": {"topics": [$topics], "state": "${e.state}", "write": ${e.write}$start}"""
      }
      s""""$stream": {"clusters": {${of.mkString(", ")}}}"""
    }
    writeText(
      s"""{"version": 1, "clusters": {${clusters.mkString(", ")}}, "streams": {${documents.mkString(
          ", "
        )}}}"""
    )
  }

  def writeText(text: String): Unit = {
    val part = folder.resolve(s".${UUID.randomUUID()}")
    Files.writeString(part, text)
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    ()
  }
}
