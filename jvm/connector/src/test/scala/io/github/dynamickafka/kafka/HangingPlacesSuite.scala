package io.github.dynamickafka.kafka

import java.net.{InetAddress, ServerSocket, URI}
import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{
  ConcurrentHashMap,
  CountDownLatch,
  ExecutionException,
  ExecutorService,
  Executors,
  TimeUnit
}
import java.{util => ju}

import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, ExecutionContext, Future, TimeoutException}
import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path => HadoopPath, RawLocalFileSystem}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.config.{DiscoveryOptions, ServiceOptions, Subscription}
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.metadata.Streams.{cluster, stream}
import io.github.dynamickafka.metadata.document.DocumentWriter
import io.github.dynamickafka.metadata.service.{MetadataServices, ServiceRegistry}
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream, OffsetsPolicy, Topology}
import io.github.dynamickafka.schemaregistry.{RegistryServer, SchemaCache}
import io.github.dynamickafka.sink.HangingReporter
import io.github.dynamickafka.source.cluster.FunctionCalls
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.{Modules, TestSeed}

/**
 * Foreign code hangs: clients, services, functions, registries and file systems, while they are made, asked and closed. What does not
 * use it continues, and who uses it can be stopped. The list of places is compared with the code: a new place needs a test here.
 */
class HangingPlacesSuite extends AnyFunSuite with TimeLimit with Eventually {
  import HangingPlacesSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private val root = Path.of(System.getProperty("dynamickafka.root"))

  private def sources(folder: String, ending: String): Seq[Path] =
    Modules.all.map(module => root.resolve(s"jvm/$module/src/$folder")).flatMap(from =>
      Using.resource(Files.walk(from))(_.iterator.asScala.filter(_.toString.endsWith(ending)).toVector)
    )

  test("the list of places where foreign code is made or called is that of the code") {
    val found = for {
      file <- sources("main", ".scala")
      code = Files.readString(file).linesIterator.filterNot(_.trim.startsWith("import ")).mkString("\n")
      (what, pattern) <- Made
      count = pattern.findAllMatchIn(code).size if count > 0
    } yield (file.getFileName.toString.stripSuffix(".scala"), what) -> count
    val listed = Places.map(p => (p.file, p.what) -> p.count)
    // A file of each Spark line has the same name.
    assert(found.toSet -- listed == Set.empty, "is in the code and not in the list")
    assert(listed.toSet -- found == Set.empty, "is in the list and not in the code")
  }

  test("each place has a test that exists, or a reason why it needs none") {
    val tests = sources("test", "Suite.scala").groupBy(_.getFileName.toString)
    val named = Places.flatMap(_.test)
    val wrong = named.filterNot { t =>
      val (suite, name) = (t.takeWhile(_ != ':'), t.dropWhile(_ != ':').drop(2))
      tests.getOrElse(s"$suite.scala", Nil).exists(Files.readString(_).contains(name))
    }
    assert(wrong.distinct == Nil)
    assert(Places.forall(p => p.test.isDefined || p.waits.nonEmpty))
  }

  /** Fails if the body does not return. */
  private def returns[A](thread: ExecutorService, where: => String)(body: => A): A =
    try Await.result(Future(body)(ExecutionContext.fromExecutor(thread)), 30.seconds)
    catch { case e: TimeoutException => fail(where, e) }

  test(
    "idle clients: no task waits for one of another cluster that hangs while it is closed, in any history"
  ) {
    val first = TestSeed()
    (first until first + 20).foreach { seed =>
      val random = new Random(seed)
      val clock = new ManualClock
      val release = new CountDownLatch(1)
      val hanging = ConcurrentHashMap.newKeySet[String]
      val closed = ConcurrentHashMap.newKeySet[Client]
      val pool = new IdlePool[Client](
        1 + random.nextInt(4),
        60000L,
        clock,
        { client =>
          if (hanging.contains(client.cluster)) release.await()
          val _ = closed.add(client)
        }
      )
      val task = Executors.newSingleThreadExecutor()
      var (steps, made) = (Vector.empty[String], Vector.empty[Client])
      def where = s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}"
      try {
        (1 to 40).foreach { _ =>
          val id = Seq("blue", "green", "red")(random.nextInt(3))
          clock.advanceMs(random.nextInt(30000).toLong)
          random.nextInt(8) match {
            case 0 =>
              steps :+= s"hang $id"
              val _ = hanging.add(id)
            case 1 =>
              steps :+= "sweep"
              returns(task, where)(pool.sweep())
            case _ =>
              steps :+= s"use $id"
              val used = returns(task, where)(pool.take(_.find(_.cluster == id))).getOrElse {
                made :+= new Client(id)
                made.last
              }
              returns(task, where)(pool.put(used))
          }
        }
        val gone = made.filterNot(c => pool.clients.contains(c) || hanging.contains(c.cluster))
        eventually(assert(gone.forall(closed.contains), where))
      } finally {
        release.countDown()
        val _ = task.shutdownNow()
      }
    }
  }

  private def watcher(service: KafkaMetadataService) = MetadataWatcher(
    service,
    Subscription.Ids(Seq("orders")),
    DiscoveryOptions(20L, 1000000, callTimeoutMs = 200L, allowMissingStreams = false),
    "hanging"
  )

  for (moment <- Seq("it is registered", "it is asked", "the listener is removed", "it is closed"))
    test(s"a metadata service that hangs while $moment: another query follows its own, and both stop") {
      val query = Executors.newSingleThreadExecutor()
      val (hung, other) = (new Scripted, new Scripted)
      hung.hangs = Some(moment)
      val (first, second) = (watcher(hung), watcher(other))
      try {
        returns(query, moment)(first.awaitFirstAttempt())
        returns(query, moment)(second.awaitFirst())
        other.topic = "later"
        eventually(assert(second.current.topology.exists(_.clusters("blue").topics.contains("later"))))
        if (moment == "it is registered" || moment == "it is asked")
          eventually(assert(first.current.consecutiveFailures > 3))
        returns(query, moment)(first.close())
        returns(query, moment)(second.close())
        eventually(assert(hung.reached.get > 0))
      } finally {
        hung.release.countDown()
        val _ = query.shutdownNow()
      }
    }

  test("queries that share services of which some hang: each is started again and stopped, in any history") {
    val first = TestSeed()
    val moments = Seq("it is registered", "it is asked", "the listener is removed", "it is closed")
    (first until first + 4).foreach { seed =>
      val random = new Random(seed)
      def one[A](all: Seq[A]): A = all(random.nextInt(all.size))
      val services = Seq.fill(2)(new Scripted)
      val handles = services.map(ServiceRegistry.register(_))
      val query = Executors.newSingleThreadExecutor()
      var (running, steps) = (Vector.empty[MetadataWatcher], Vector.empty[String])
      def where = s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}"
      try
        (1 to 8).foreach { _ =>
          val n = random.nextInt(services.size)
          random.nextInt(5) match {
            case 0 =>
              services(n).hangs = Some(one(moments))
              steps :+= s"service $n hangs while ${services(n).hangs.mkString}"
            case 1 if running.nonEmpty =>
              steps :+= "stop"
              val stopped = one(running)
              running = running.filterNot(_ eq stopped)
              returns(query, where)(stopped.close())
            case _ =>
              steps :+= s"start with service $n"
              val options = ServiceOptions("registered", Map("handle" -> handles(n)))
              val made =
                returns(query, where)(watcher(MetadataServices.create(options, new Configuration)))
              running :+= made
              // The checkpoint has a topology.
              val before = Some(Topology.empty)
              val found = returns(query, where)(made.awaitFirstAttempt(before))
              assert(found.isDefined || services.exists(_.hangs.isDefined), where)
          }
        }
      finally {
        services.foreach(_.release.countDown())
        running.foreach(_.close())
        handles.foreach(ServiceRegistry.unregister)
        val _ = query.shutdownNow()
      }
    }
  }

  test("a metadata service that hangs while it is made: the thread that makes it can be interrupted") {
    Making.reached = new CountDownLatch(1)
    val name = classOf[MadeForEver].getName
    val thread = new Thread(() =>
      try { val _ = MetadataServices.create(ServiceOptions(name, Map.empty), new Configuration) }
      catch { case _: Throwable => () }
    )
    thread.start()
    assert(Making.reached.await(60, TimeUnit.SECONDS))
    val other = MetadataServices.create(
      ServiceOptions("static", Map("document" -> document("orders"))),
      new Configuration
    )
    assert(other.getAllStreams().asScala.map(_.streamId) == Set("orders"))
    thread.interrupt()
    thread.join(60000)
    assert(!thread.isAlive)
  }

  for (name <- Seq("single-cluster", "kafka-topic"))
    test(s"the client of '$name' that hangs while it is made: calls end in time, and closing does not wait") {
      val arguments = Map(
        "bootstrapServers" -> "127.0.0.1:1",
        "clusterId" -> "blue",
        "topic" -> "streams",
        "timeoutMs" -> "300",
        "properties.default.api.timeout.ms" -> "300",
        "properties.metric.reporters" -> classOf[HangingReporter].getName
      )
      val taken = if (name == "kafka-topic") arguments - "clusterId" else arguments - "topic" - "timeoutMs"
      HangingReporter.hanging {
        val thread = Executors.newCachedThreadPool()
        val service = MetadataServices.create(ServiceOptions(name, taken), new Configuration)
        try
          (1 to 3).foreach { _ =>
            val e = intercept[Exception](returns(thread, name)(service.getAllStreams()))
            assert(FailureText.causes(e).exists(_.getMessage.contains("not open within 300 ms")), e)
          }
        finally {
          returns(thread, name)(service.close())
          val _ = thread.shutdownNow()
        }
      }
    }

  for (moment <- Seq("made", "called"))
    test(
      s"a function for offsets that hangs while it is $moment is an error in time, and another one answers"
    ) {
      val release = new CountDownLatch(1)
      def function(cluster: String, hangs: Boolean): OffsetsPolicy.Computed =
        OffsetsPolicy.Computed("class:x", cluster) { () =>
          if (hangs && moment == "made") release.await()
          (_, _, partitions) => {
            if (hangs && moment == "called") release.await()
            partitions.map(_ -> 7L).toMap
          }
        }
      def asked(cluster: String, hangs: Boolean) =
        new FunctionCalls(cluster, () => if (hangs) 200L else 60000L)(
          function(cluster, hangs),
          "t",
          Set(0),
          "startingOffsets"
        )
      try {
        val late = asked("blue", hangs = true)
        assert(asked("green", hangs = false).get(60, TimeUnit.SECONDS).values.toSeq == Seq(7L))
        val e = intercept[ExecutionException](late.get(60, TimeUnit.SECONDS))
        assert(e.getCause.getMessage.contains("has not returned within"), e)
      } finally release.countDown()
    }

  for (moment <- Seq("initialize", "getFileStatus", "open", "close"))
    test(s"a file system that hangs in '$moment': another query follows its file, and both stop") {
      val (folder, query) = (Files.createTempDirectory("hanging"), Executors.newSingleThreadExecutor())
      def file(name: String) = {
        val path = Files.writeString(folder.resolve(name), document("orders"))
        path
      }
      val configuration = new Configuration
      configuration.set("fs.hanging.impl", classOf[HangingFileSystem].getName)
      configuration.set("fs.hanging.impl.disable.cache", "true")
      def service(uri: String) =
        MetadataServices.create(ServiceOptions("file", Map("path" -> uri)), configuration)
      HangingFileSystem.in(moment) { reached =>
        val own = file("own")
        val made = returns(query, moment)((service(s"hanging://${file("hung")}"), service(own.toString)))
        val (first, second) = (watcher(made._1), watcher(made._2))
        try {
          returns(query, moment)(first.awaitFirstAttempt())
          returns(query, moment)(second.awaitFirst())
          eventually(assert(reached.get > 0))
          Files.writeString(own, document("orders", "later"))
          eventually(assert(second.current.topology.exists(_.clusters("blue").topics.contains("later"))))
          returns(query, moment)(first.close())
          returns(query, moment)(second.close())
        } finally { val _ = query.shutdownNow() }
      }
    }

  for (moment <- Seq("does not accept", "accepts and does not answer"))
    test(s"a registry that $moment: another registry answers, and a task that waits can be stopped") {
      val cache = SchemaCache(Clock.System)
      Using.resource(new ServerSocket(0, 1, InetAddress.getLoopbackAddress)) { silent =>
        RegistryServer.serving { server =>
          val id = server.register("s", "\"int\"")
          val accepting = new Thread(() =>
            try while (true) { val _ = silent.accept() }
            catch { case _: java.io.IOException => () }
          )
          if (moment.startsWith("accepts")) accepting.start()
          val address = s"http://127.0.0.1:${silent.getLocalPort}"
          val ended = new CountDownLatch(1)
          val task = new Thread(() =>
            try { val _ = cache.schema(RegistryServer.settingsOf(address, "timeoutMs" -> "1h"), 1) }
            catch { case _: Throwable => ended.countDown() }
          )
          task.start()
          eventually(assert(Set(Thread.State.TIMED_WAITING, Thread.State.WAITING)(task.getState)))
          val other = Executors.newSingleThreadExecutor()
          try assert(returns(other, moment)(cache.schema(server.settings(), id)).isDefined)
          finally { val _ = other.shutdownNow() }
          task.interrupt()
          assert(ended.await(60, TimeUnit.SECONDS))
        }
      }
    }
}

object HangingPlacesSuite {
  private final class Client(val cluster: String)

  /** Code that is not ours, by the calls that make it or run it. */
  private val Made = Seq(
    "client" -> """Admin\.create\(|new KafkaProducer|new KafkaConsumer|KubernetesClientBuilder\(\)|new Socket\b""".r,
    "HTTP" -> """HttpExchange\.(?:client\(|plain\b)""".r,
    "visitor" -> """HttpServer\.create\(|new ServerSocket""".r,
    "database" -> """accepting\.connect\(""".r,
    "class" -> """\.newInstance\(|NamedClass\.create\(""".r,
    "function" -> """policy\.function\(\)""".r,
    "file system" -> """\.getFileSystem\(|CheckpointFileManager\.create""".r,
    "listener of Spark" -> """new SparkListener|extends SparkListener\b|extends StreamingQueryListener""".r
  )

  /**
   * @param waits who waits for it, where no test hangs it: a thread of the user, a task, or the thread of a query, which only waits for
   *              what it uses, and which `stop()` interrupts
   */
  private final case class Place(
      file: String,
      what: String,
      count: Int,
      test: Option[String] = None,
      waits: String = ""
  )

  private def tested(file: String, what: String, count: Int, test: String) =
    Place(file, what, count, Some(test))
  private def waited(file: String, what: String, count: Int, waits: String) =
    Place(file, what, count, waits = waits)

  private val Own = "HangingPlacesSuite: "
  private val Service = Own + "a metadata service that hangs while"
  private val Registry = Own + "a registry that $moment"
  private val Answers = "AnswerMatrixSuite: what queries make of the answers of the service"
  private val User = "the thread of the user, who makes the frame or the table"
  private val Query = "the thread of the query, which uses it"
  private val Command = "the thread of the command"

  private val Places: Seq[Place] = Seq(
    tested(
      "ClusterClient",
      "client",
      1,
      "HangingOpenersSuite: no call waits for a client that hangs"
    ),
    tested("ConsumerPool", "client", 1, Own + "idle clients"),
    tested("SharedProducers", "client", 1, "SharedProducersSuite: a producer that hangs while it is opened"),
    tested(
      "ResumableProducer",
      "client",
      1,
      "TransactionalSenderSuite: a producer that hangs while it is opened"
    ),
    waited("Replacements", "client", 1, "a thread of its own, for the time limit of the cluster"),
    tested("KafkaTopicMetadataService", "client", 2, Service),
    tested("KubernetesService", "client", 1, s"$Answers 'configmap'"),
    waited("BrokerSocket", "client", 1, "whoever explains a failure, with a time limit"),
    waited("Brokers", "client", 2, Command),
    waited("KafkaOffsets", "client", 1, Command),
    tested("RegistryClient", "HTTP", 2, Registry),
    tested("HttpMetadataService", "HTTP", 1, s"$Answers 'http'"),
    tested("LivePage", "visitor", 1, "PageServerSuite: random visitors who send or read slowly"),
    waited("OAuthTokens", "HTTP", 1, "whoever needs the token, with the time limit of its request"),
    tested("JdbcMetadataService", "database", 1, s"$Answers 'jdbc'"),
    tested("MetadataServices", "class", 2, Own + "a metadata service that hangs while it is made"),
    tested("OffsetsFunctions", "class", 1, Own + "a function for offsets that hangs while it is"),
    tested("OffsetsFunctions", "function", 1, Own + "a function for offsets that hangs while it is"),
    waited("NamedClass", "class", 1, User),
    waited("ClassFormat", "class", 2, User + "; a task"),
    waited("SerdeFormats", "class", 1, User + "; a task"),
    waited("ReplacedClusterOptions", "class", 1, User + "; the thread of the query"),
    waited("HistoryFormat", "class", 1, "Spark's own class"),
    waited("SparkKafkaSource", "class", 1, "Spark's own class"),
    tested("FileMetadataService", "file system", 1, Own + "a file system that hangs in"),
    tested("AtomicFiles", "file system", 1, "LastRecordsSuite: a file system that hangs holds up neither"),
    waited("SourceCheckpoint", "file system", 1, Query),
    waited("SparkFileManager", "file system", 1, Query),
    waited("Journal", "file system", 1, Query),
    waited("HistoryFormat", "file system", 1, Query),
    waited("DynamicKafkaTable", "file system", 1, User),
    waited("CheckpointFiles", "file system", 1, Command),
    waited("Main", "file system", 1, Command),
    tested(
      "DynamicKafkaSinkTable",
      "listener of Spark",
      1,
      "HangingClientSuite: what does not use the cluster continues, the query stops, and the listeners"
    ),
    waited("SinkRun", "listener of Spark", 1, "sets a flag, and calls nothing"),
    waited("LivePage", "listener of Spark", 1, "closes a socket and interrupts threads, and waits for none")
  )

  private def document(id: String, topics: String*): String = DocumentWriter.text(Seq(
    stream(id, "blue" -> cluster("orders" +: topics: _*))
  ))

  /** A service of the user that hangs at one moment, and ignores interrupts as a call into Python does. */
  private final class Scripted extends KafkaMetadataService {
    val release = new CountDownLatch(1)
    val reached = new AtomicInteger
    @volatile var hangs = Option.empty[String]
    @volatile var topic = "orders"

    private def at(moment: String): Unit = if (hangs.contains(moment)) {
      reached.incrementAndGet()
      while (release.getCount > 0)
        try release.await()
        catch { case _: InterruptedException => () }
    }

    private def current = stream("orders", "blue" -> cluster(topic))

    override def getAllStreams(): ju.Set[KafkaStream] = {
      at("it is asked")
      ju.Set.of(current)
    }
    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] = {
      at("it is asked")
      ju.Map.of("orders", current)
    }
    override def isClusterActive(id: String): Boolean = true
    override def onChange(changed: Runnable): AutoCloseable = {
      at("it is registered")
      () => at("the listener is removed")
    }
    override def close(): Unit = at("it is closed")
  }

  object Making {
    @volatile var reached = new CountDownLatch(0)
  }

  final class MadeForEver extends KafkaMetadataService {
    Making.reached.countDown()
    new CountDownLatch(1).await()
    override def getAllStreams(): ju.Set[KafkaStream] = ju.Set.of()
    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] = ju.Map.of()
    override def isClusterActive(id: String): Boolean = true
    override def close(): Unit = ()
  }
}

/** The local files, whose file system hangs in one of its calls, and ignores interrupts. */
final class HangingFileSystem extends RawLocalFileSystem {
  import HangingFileSystem.at

  override def getUri: URI = URI.create("hanging:///")

  override def initialize(uri: URI, conf: Configuration): Unit = {
    at("initialize")
    super.initialize(uri, conf)
  }

  override def getFileStatus(path: HadoopPath): FileStatus = {
    at("getFileStatus")
    super.getFileStatus(path)
  }

  override def open(file: HadoopPath, bufferSize: Int): FSDataInputStream = {
    at("open")
    val stream = super.open(file, bufferSize)
    new FSDataInputStream(stream.getWrappedStream) {
      override def close(): Unit = {
        at("close")
        stream.close()
      }
    }
  }
}

object HangingFileSystem {
  @volatile private var moment = ""
  @volatile private var release = new CountDownLatch(0)
  private val reached = new AtomicInteger

  def in(moment: String)(body: AtomicInteger => Unit): Unit = {
    release = new CountDownLatch(1)
    reached.set(0)
    this.moment = moment
    try body(reached)
    finally {
      this.moment = ""
      release.countDown()
    }
  }

  private def at(call: String): Unit = if (call == moment) {
    reached.incrementAndGet()
    val until = release
    while (until.getCount > 0)
      try until.await()
      catch { case _: InterruptedException => () }
  }
}
