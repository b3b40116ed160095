package io.github.dynamickafka.source

import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.concurrent.duration.{DurationInt, FiniteDuration}
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException, blocking}
import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.metrics.source.DynamicKafkaGauges
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Row, SparkSession}

import io.github.dynamickafka.DynamicKafkaCatalog
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson}
import io.github.dynamickafka.sink.commit.{CommitProbe, CommitStep}
import io.github.dynamickafka.storage.{InProcessFiles, InProcessFilesContext}

/** A record as a query has read it. */
final case class Seen(
    cluster: String,
    topic: String,
    partition: Int,
    offset: Long,
    value: String,
    stream: String
)

object Seen {

  /** The columns that [[of]] needs. */
  val columns: Seq[String] =
    Seq("cluster", "topic", "partition", "offset", "cast(value as string) as value", "stream")

  def of(r: Row): Seen =
    Seen(r.getString(0), r.getString(1), r.getInt(2), r.getLong(3), r.getString(4), r.getString(5))
}

/** A Spark session, shared by all suites of this JVM, and the queries of a test. */
trait Queries extends Clusters {
  lazy val spark: SparkSession = Query.spark

  /**
   * Whether each trigger asks and waits for all clusters. Suites that wait for conditions, or are about clusters that do not respond,
   * test the default.
   */
  def asksInEachTrigger: Boolean = true

  /** Runs the body with a query that reads, and has its own folder and metadata; stops it afterwards. */
  def scene[A](body: Query => A): A =
    Using.resource(new Query(spark, newFolder(), if (asksInEachTrigger) Asking else Map.empty))(body)

  /** Runs the body with streams to write to, and stops the queries that write afterwards. */
  def target[A](body: Target => A): A = Using.resource(new Target(newFolder()))(body)

  /** Runs the body with a query over a topic with two partitions, on blue and on green, which has these values on each of them. */
  def onBoth[A](values: Seq[String])(body: (Query, String) => A): A = scene { s =>
    val topic = newTopicOn(2, blue, green)
    Seq(blue, green).foreach(produce(_, topic, 2, values))
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    body(s, topic)
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

  /** The next run is refused with this condition and these parts of the text, and logs nothing. */
  def refusedUnlogged(s: Query, name: String, options: (String, String)*)(texts: String*): Unit = {
    val before = s.loggedText
    val e = refused(s.start(Trigger.AvailableNow(), options: _*))
    assert(condition(e) == name)
    texts.foreach(t => assert(text(e).contains(t), text(e)))
    assert(s.loggedText == before, "nothing is logged")
    ()
  }

  /** The condition and the text of the error of a statement. */
  def error(sql: String): (String, String) = {
    val e = refused(spark.sql(sql).collect())
    condition(e) -> text(e)
  }

  private def ours(e: Throwable): DynamicKafkaError =
    causes(e).collectFirst { case ours: DynamicKafkaError => ours }.getOrElse(throw e)

  private def causes(e: Throwable): Seq[Throwable] =
    Iterator.iterate(e)(_.getCause).takeWhile(_ != null).take(20).toSeq

  def condition(e: DynamicKafkaError): String = e.getCondition.stripPrefix("DYNAMIC_KAFKA.")
  def text(e: DynamicKafkaError): String = e.asInstanceOf[Throwable].getMessage

  /** The option of queries that are no [[scene]], in suites that ask in each trigger. */
  val Asking: Map[String, String] = Map("clusterSnapshotMaxAgeMs" -> "0")

  /** Waits until the query has read everything that existed before this call, except on clusters that do not respond. */
  def settle(query: StreamingQuery): Unit = {
    val begun = System.nanoTime()
    def isAskedSince = {
      val ms = (System.nanoTime() - begun) / 1000000L
      ms > MaxAgeMs || answerAgesMs(query).forall(_ <= ms)
    }
    def idle(): Unit = {
      query.processAllAvailable()
      while (!isAskedSince) query.processAllAvailable()
      // What the newest responses have shown is read now, or by the next trigger.
      query.processAllAvailable()
    }
    val waiting = Future(Try(blocking(idle())))(ExecutionContext.global)
    try Await.result(waiting, SettleWithin).get
    catch { case _: TimeoutException => fail(s"the query does not become idle: ${query.lastProgress}") }
  }

  private val SettleWithin = 300.seconds

  /** The default of `clusterSnapshotMaxAgeMs`: a cluster whose response is older does not respond. */
  private val MaxAgeMs = 1000L

  /**
   * When the responses were requested that the last trigger of a query has used, as their ages. The metric `snapshotAgeMs` says the same in
   * the progress, which Spark does not update while a query is idle.
   */
  private def answerAgesMs(query: StreamingQuery): Iterable[Long] = {
    val of = Option(query.name).getOrElse(query.id.toString).replaceAll("[^A-Za-z0-9]", "_")
    DynamicKafkaGauges.running().toSeq.flatMap(_.getGauges.asScala).collect {
      case (name, gauge) if name.startsWith(s"$of.") && name.endsWith(".answerAgeMs") =>
        gauge.getValue.asInstanceOf[Long]
    }
  }

  /** Stops the query. Fails after the limit, even if stop() would never return. */
  def stopWithin(limit: FiniteDuration)(query: StreamingQuery): Unit = {
    val stopping = Future(blocking(query.stop()))(ExecutionContext.global)
    try Await.result(stopping, limit)
    catch { case _: TimeoutException => fail(s"stop() has not ended after $limit") }
  }

  val Continuous: Trigger = Trigger.ProcessingTime(0L)
  val ExactlyOnce: (String, String) = "deliveryGuarantee" -> "exactly-once"

  /** Rows with `key` and `value`; the keys are `k0` to `k9` in turn. */
  def rows(from: Int, until: Int): DataFrame =
    spark.range(from.toLong, until.toLong)
      .selectExpr("concat('k', id % 10) as key", "cast(id as string) as value")

  def rows(sql: String): Seq[Seq[Any]] = spark.sql(sql).collect().map(_.toSeq).toSeq
  def row(values: Any*): Seq[Any] = values

  /** The names of the columns with their types. */
  def columns(sql: String): String = spark.sql(sql).schema.toDDL

  /** Defines a catalog with these settings; returns its name. */
  def catalog(settings: Map[String, String]): String = {
    val name = s"k${UUID.randomUUID.toString.replace("-", "").take(8)}"
    spark.conf.set(s"spark.sql.catalog.$name", classOf[DynamicKafkaCatalog].getName)
    (settings - "streamId" - "streamIds").foreach { case (option, value) =>
      spark.conf.set(s"spark.sql.catalog.$name.$option", value)
    }
    name
  }

  def catalog(target: Target, settings: (String, String)*): String = catalog(target.options(settings: _*))

  /** The texts of the error and of all its causes. */
  def message(run: => Any): String =
    causes(intercept[Exception](run)).map(_.getMessage).mkString(" ")

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
  private[dynamickafka] def probed[A](probe: CommitProbe)(body: => A): A = {
    CommitProbe.installed = probe
    try body
    finally CommitProbe.installed = CommitProbe.NoOp
  }
}

object Query {
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

/** The metadata of a query, from a service that is polled every 50 ms, and the runs of it that a test starts. */
sealed trait Runs extends AutoCloseable {
  val service = new EntryService
  private val handle = ServiceRegistry.register(service)
  private val queries = ConcurrentHashMap.newKeySet[StreamingQuery]()

  protected val metadata: Map[String, String] = Map(
    "metadataService" -> "registered",
    "metadataService.handle" -> handle,
    "streamMetadataDiscoveryIntervalMs" -> "50"
  )

  /** Runs until it is stopped, which is when this is closed at the latest. */
  protected def started(query: StreamingQuery): StreamingQuery = {
    queries.add(query)
    query
  }

  /** Returns when a query with `AvailableNow` has ended. */
  protected def ended(query: StreamingQuery): StreamingQuery = {
    if (!query.awaitTermination(300000L)) throw new AssertionError("AvailableNow does not end")
    query
  }

  override def close(): Unit = {
    service.behave = () => ()
    queries.forEach(_.stop())
    ServiceRegistry.unregister(handle)
  }
}

/** The files that Spark has in the checkpoint of a query. */
class CheckpointFiles(val checkpoint: Path) {

  /** The last logged offset. */
  def logged: CompositeOffset = CompositeOffsetJson.read(loggedText)

  /** Whether the last logged batch is committed: then a restart repeats nothing. */
  def isFinished: Boolean = last("offsets").getFileName == last("commits").getFileName

  def logged(batch: Long): CompositeOffset = CompositeOffsetJson.read(text(batch))
  def loggedText: String = text(log("offsets").last)

  private def text(batch: Long): String =
    Files.readAllLines(checkpoint.resolve("offsets").resolve(batch.toString)).asScala.last

  /** Leaves the checkpoint as a crash does before the last batch is committed. */
  def uncommit(): Unit = {
    val committed = checkpoint.resolve("commits").resolve(last("offsets").getFileName)
    if (Files.exists(committed)) delete(committed)
  }

  /** Removes all traces of the last logged batch. */
  def unlog(): Unit = {
    uncommit()
    delete(last("offsets"))
  }

  /** Replaces the last logged offset. */
  def rewriteLogged(change: String => String): Unit = {
    val file = last("offsets")
    val lines = Files.readAllLines(file).asScala
    Files.write(file, (lines.init :+ change(lines.last)).asJava)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  /** All files of the checkpoint, with their content as text. */
  def files: Map[String, String] = Using.resource(Files.walk(checkpoint))(
    _.iterator.asScala.filter(Files.isRegularFile(_)).filterNot(_.toString.endsWith(".crc"))
      .map(f => checkpoint.relativize(f).toString -> Files.readString(f)).toMap
  )

  /** The numbers of the batches in one of Spark's logs, in order. */
  def log(name: String): Seq[Long] = {
    val folder = checkpoint.resolve(name)
    if (!Files.exists(folder)) Nil
    else
      Using.resource(Files.list(folder))(
        _.iterator.asScala.map(_.getFileName.toString).flatMap(_.toLongOption).toVector.sorted
      )
  }

  private def last(log: String): Path = checkpoint.resolve(log).resolve(this.log(log).last.toString)

  private def delete(file: Path): Unit = {
    Files.delete(file)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }
}

/**
 * The rows that a query has read, over all its restarts. Rows are kept by batch: a repeated batch replaces its first attempt, as
 * in an idempotent sink, and must be the same.
 */
class Results(checkpoint: Path) extends CheckpointFiles(checkpoint) {
  private val byBatch = new ConcurrentHashMap[Long, Seq[Seen]]
  @volatile private var different = Seq.empty[String]
  @volatile private var again = Set.empty[Long]

  /** Called in each batch after its rows are kept: for events between two triggers, or to block the query. */
  @volatile var inBatch: Long => Unit = _ => ()

  def seen: Seq[Seen] = {
    if (different.nonEmpty) throw new AssertionError(different.mkString("; "))
    batches.flatten
  }

  def values: Seq[String] = seen.map(_.value).sorted
  def batch(id: Long): Seq[Seen] = byBatch.getOrDefault(id, Nil)

  /** The rows of each batch, in order. */
  def batches: Seq[Seq[Seen]] = byBatch.asScala.toSeq.sortBy(_._1).map(_._2)
  def batchCount: Int = byBatch.size
  def sizes: Seq[Int] = batches.map(_.size)

  /** Batches that were run more than once. */
  def repeated: Set[Long] = again

  /** From now on each batch blocks after its rows are kept, until it is released or the query is stopped. */
  def hold(): Hold = {
    val hold = new Hold
    inBatch = _ => hold.enter()
    hold
  }

  def start(frame: DataFrame, trigger: Trigger = Trigger.ProcessingTime(0L)): StreamingQuery =
    frame.selectExpr(Seen.columns: _*).writeStream
      .foreachBatch { (rows: DataFrame, id: Long) =>
        val found = rows.collect().toSeq.map(Seen.of)
        Option(byBatch.put(id, found)).foreach { before =>
          again += id
          if (before.sortBy(_.toString) != found.sortBy(_.toString))
            different :+= s"batch $id was $before and then $found"
        }
        inBatch(id)
      }
      .option("checkpointLocation", checkpoint.toString)
      .trigger(trigger)
      .start()

  /** Batches that were not logged may have other rows when they are planned again. */
  def forgetRows(): Unit = byBatch.clear()
}

/** Blocks a query inside a batch. */
final class Hold {
  private val entered = new CountDownLatch(1)
  private val released = new CountDownLatch(1)

  def enter(): Unit = {
    entered.countDown()
    released.await()
  }

  /** Returns when a batch is blocked: before that, an interrupt could reach Spark's job instead. */
  def await(): Unit = if (!entered.await(300, TimeUnit.SECONDS)) throw new AssertionError("no batch is held")

  def release(): Unit = released.countDown()
}

/**
 * A query over the stream `orders`.
 *
 * @param defaults options of all runs that do not set them
 */
final class Query(spark: SparkSession, val folder: Path, defaults: Map[String, String])
    extends Results(folder.resolve("checkpoint")) with Runs {

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
    defaults ++ metadata ++ subscription ++ chosen
  }

  def frame(more: (String, String)*): DataFrame =
    spark.readStream.format("dynamic-kafka").options(options(more: _*)).load()

  def batch(more: (String, String)*): DataFrame =
    spark.read.format("dynamic-kafka").options(options(more: _*)).load()

  def start(more: (String, String)*): StreamingQuery = start(Trigger.ProcessingTime(0L), more: _*)

  def start(trigger: Trigger, more: (String, String)*): StreamingQuery = start(frame(more: _*), trigger)

  override def start(frame: DataFrame, trigger: Trigger): StreamingQuery =
    started(super.start(frame, trigger))

  /** Reads all available records, and terminates. */
  def catchUp(more: (String, String)*): Unit = {
    val _ = ended(start(Trigger.AvailableNow(), more: _*))
  }

  def metrics(query: StreamingQuery): Map[String, String] =
    Option(query.lastProgress).fold(Map.empty[String, String])(_.sources.head.metrics.asScala.toMap)
}

/** The streams that a query writes to, its checkpoint, and a folder for the journals of jobs. */
final class Target(folder: Path) extends CheckpointFiles(folder.resolve("checkpoint")) with Runs {

  /** Defines the stream `out` from now on. */
  def out(entries: Entry*): Unit = streams("out" -> entries)

  def streams(all: (String, Seq[Entry])*): Unit = service.streams = all.toMap

  /** Same as [[out]]; returns once the connector has received the new answer. */
  def change(entries: Entry*): Unit = {
    out(entries: _*)
    service.awaitAnswers()
  }

  def options(more: (String, String)*): Map[String, String] = metadata ++ Seq("streamId" -> "out") ++ more

  /** With a folder for the journals of jobs, unless `more` has one. */
  def save(frame: DataFrame, more: (String, String)*): Unit = {
    val journals = "checkpointLocation" -> folder.resolve("jobs").toString
    frame.write.format("dynamic-kafka").options(options(journals +: more: _*)).mode("append").save()
  }

  def start(frame: DataFrame, more: (String, String)*): StreamingQuery =
    start(frame, Trigger.ProcessingTime(0L), more: _*)

  def start(frame: DataFrame, trigger: Trigger, more: (String, String)*): StreamingQuery =
    started(frame.writeStream.format("dynamic-kafka").options(options(more: _*))
      .option("checkpointLocation", checkpoint.toString).trigger(trigger).start())

  /** Writes all available records, and terminates. */
  def catchUp(frame: DataFrame, more: (String, String)*): StreamingQuery =
    ended(start(frame, Trigger.AvailableNow(), more: _*))
}
