package io.github.dynamickafka.source

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException, blocking}
import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.storage.{InProcessFiles, InProcessFilesContext}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaClusters, OnBrokers, Record, TimeLimit}

/** A record as a query has read it. */
final case class Seen(
    cluster: String,
    topic: String,
    partition: Int,
    offset: Long,
    value: String,
    stream: String
)

/**
 * A Spark session and real brokers, shared by all suites of this JVM; each test uses topic names of its own.
 * `blue` and `green` always run; tests may kill, freeze and move `red`, and leave it running afterwards.
 */
trait SourceTest extends AnyFunSuite with TimeLimit with OnBrokers with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(300, Seconds), interval = Span(100, Millis))

  lazy val spark: SparkSession = SourceTest.spark
  def blue: KafkaCluster = SourceTest.clusters(0)
  def green: KafkaCluster = SourceTest.clusters(1)
  def red: KafkaCluster = SourceTest.clusters(2)

  /**
   * Whether each trigger asks and waits for all clusters, so that [[settle]] is exact. Suites that wait for conditions, or
   * are about clusters that do not respond, test the default.
   */
  def asksInEachTrigger: Boolean = true

  /** A unique topic name. */
  def newTopic(prefix: String = "t"): String = s"$prefix-${UUID.randomUUID().toString.take(8)}"

  /** Creates a topic on each of these clusters, with the same unique name. */
  def newTopicOn(partitions: Int, clusters: KafkaCluster*): String = {
    val topic = newTopic()
    clusters.foreach(_.createTopic(topic, partitions))
    topic
  }

  def newFolder(): Path = Files.createTempDirectory("dynamic-kafka-test-")

  /** Writes these values to the partitions in turn. */
  def produce(cluster: KafkaCluster, topic: String, partitions: Int, values: Seq[String]): Unit = {
    cluster.produce(topic, values.zipWithIndex.map { case (v, i) => Record(i % partitions, Some(v), v) })
    ()
  }

  /** All records of a topic of a cluster, as a query has to read them. */
  def stored(id: String, cluster: KafkaCluster, topic: String, stream: String = "orders"): Seq[Seen] =
    cluster.dump(topic).map(r => Seen(id, topic, r.partition, r.offset, r.value, stream))

  /** Runs the body with a query that has its own folder and metadata, and stops the query afterwards. */
  def scene[A](body: Scene => A): A = {
    val scene = new Scene(
      spark,
      newFolder(),
      if (asksInEachTrigger) Asking else Map.empty
    )
    try body(scene)
    finally scene.close()
  }

  /** Fails unless both contain exactly the same records. */
  def assertSame(found: Seq[Seen], expected: Seq[Seen]): Unit = {
    val lost = expected.diff(found)
    val twice = found.diff(expected)
    assert(lost.isEmpty && twice.isEmpty, s"lost: ${lost.take(10)}, too many: ${twice.take(10)}")
    ()
  }

  /** Waits for the query to fail and returns the connector's error. */
  def failure(query: StreamingQuery): DynamicKafkaError = {
    eventually(assert(!query.isActive))
    query.exception.map(ours).getOrElse(fail("the query ended without an error"))
  }

  /** The connector's error that the body throws, or that fails the query that the body starts. */
  def refused(start: => Any): DynamicKafkaError =
    try
      start match {
        case query: StreamingQuery => failure(query)
        case other => fail(s"not refused: $other")
      }
    catch { case e: Exception if causes(e).exists(_.isInstanceOf[DynamicKafkaError]) => ours(e) }

  private def ours(e: Throwable): DynamicKafkaError =
    causes(e).collectFirst { case ours: DynamicKafkaError => ours }.getOrElse(throw e)

  private def causes(e: Throwable): Seq[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq

  def condition(e: DynamicKafkaError): String = e.getCondition.stripPrefix("DYNAMIC_KAFKA.")
  def text(e: DynamicKafkaError): String = e.asInstanceOf[Throwable].getMessage

  /** The option of queries that are no [[scene]], in suites that ask in each trigger. */
  val Asking: Map[String, String] = Map("clusterSnapshotMaxAgeMs" -> "0")

  /** Waits until the query has read everything that existed before this call. */
  def settle(query: StreamingQuery): Unit = {
    // A running trigger may have asked for end offsets too early, the next one has not. With the default of
    // `clusterSnapshotMaxAgeMs`, a trigger may use a response to the one before.
    def idle(): Unit = (1 to (if (asksInEachTrigger) 2 else 5)).foreach { i =>
      if (i > 2) Thread.sleep(150)
      query.processAllAvailable()
    }
    val waiting = Future(Try(blocking(idle())))(ExecutionContext.global)
    try Await.result(waiting, SettleWithin).get
    catch { case _: TimeoutException => fail(s"the query does not become idle: ${query.lastProgress}") }
  }

  private val SettleWithin = 300.seconds

  def elapsedMs(body: => Any): Long = {
    val from = System.nanoTime()
    body
    (System.nanoTime() - from) / 1000000L
  }

  def waitFor(what: String)(c: => Boolean): Unit = {
    eventually(assert(c, s"not in time: $what"))
    ()
  }

  /** Stops the query. Fails after the limit, even if stop() would never return. */
  def stopWithin(limit: FiniteDuration)(query: StreamingQuery): Unit = {
    val stopping = Future(blocking(query.stop()))(ExecutionContext.global)
    try Await.result(stopping, limit)
    catch { case _: TimeoutException => fail(s"stop() has not ended after $limit") }
  }

  val Continuous: Trigger = Trigger.ProcessingTime(0L)
}

object SourceTest {
  lazy val clusters: Seq[KafkaCluster] = KafkaClusters.start("blue", "green", "red")

  lazy val spark: SparkSession = SparkSession.builder()
    .master("local[2]")
    .appName("dynamic-kafka-test")
    // Suites that test the UI use the defaults of users.
    .config("spark.ui.port", "0")
    .config("spark.ui.showConsoleProgress", "false")
    .config(
      "spark.metrics.conf.*.sink.prometheusServlet.class",
      "org.apache.spark.metrics.sink.PrometheusServlet"
    )
    .config("spark.metrics.conf.*.sink.prometheusServlet.path", "/metrics/prometheus")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.streaming.metricsEnabled", "true")
    // Queries read few records: compiling their plans and projections takes longer than running them.
    .config("spark.sql.codegen.wholeStage", "false")
    .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    .config("spark.sql.streaming.ui.enabled", "false")
    // The default of 10 ms keeps a core busy while a query is idle.
    .config("spark.sql.streaming.pollingDelay", "100ms")
    .config("spark.hadoop.fs.file.impl", classOf[InProcessFiles].getName)
    .config("spark.hadoop.fs.AbstractFileSystem.file.impl", classOf[InProcessFilesContext].getName)
    .getOrCreate()
}
