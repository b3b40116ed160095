package io.github.dynamickafka.metadata.zookeeper

import java.io.IOException
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration.Duration
import scala.concurrent.{Await, Future}
import scala.jdk.CollectionConverters._

import org.apache.zookeeper.ZooDefs
import org.apache.zookeeper.data.{ACL, Id}
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.registry.ServiceByName
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

class ZooKeeperMetadataServiceSuite extends AnyFunSuite with TimeLimit with Eventually
    with BeforeAndAfterAll {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private lazy val server = new ZooKeeperServer
  private val paths = Iterator.from(1).map(i => s"/kafka/streams-$i")

  override protected def afterAll(): Unit = server.close()

  private def document(topic: String) =
    s"""version: 1
       |clusters: {blue: {properties: {bootstrap.servers: "b:1"}}}
       |streams: {orders: {clusters: {blue: {topics: [$topic]}}}}
       |""".stripMargin

  /** Its time limit, unless it is named, leaves room for a busy machine. */
  private def service(path: String, more: String*): KafkaMetadataService = {
    val limit = if (more.exists(_.startsWith("timeoutMs="))) Nil else Seq("timeoutMs=100000")
    val needed = Seq(s"connectString=${server.address}", s"path=$path")
    ServiceByName.create("ZooKeeper", needed ++ limit ++ more: _*)
  }

  private def topics(service: KafkaMetadataService): Set[String] =
    service.describeStreams(
      ju.List.of("orders")
    ).get("orders").getClusterMetadataMap.get("blue").getTopics.asScala.toSet

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](service.getAllStreams()))

  /** A service that is read and watched, with the count of its notices. */
  private def watched(
      path: String,
      more: String*
  )(body: (KafkaMetadataService, AtomicInteger) => Unit): Unit = {
    val zookeeper = service(path, more: _*)
    val changes = new AtomicInteger
    val notices = zookeeper.onChange { () =>
      val _ = changes.incrementAndGet()
    }
    try body(zookeeper, changes)
    finally {
      notices.close()
      zookeeper.close()
    }
  }

  test(
    "the document in the node; changes, a node that is created and one that is deleted are noticed at once"
  ) {
    val path = paths.next()
    watched(path) { (zookeeper, changes) =>
      assert(failure(zookeeper).contains(s"the node $path of ZooKeeper at ${server.address} does not exist"))
      for (topic <- Seq("a", "b", "c")) {
        val before = changes.get
        server.put(path, document(topic))
        eventually(assert(changes.get > before))
        assert(topics(zookeeper) == Set(topic))
      }
      val before = changes.get
      server.delete(path)
      eventually(assert(changes.get > before))
      assert(failure(zookeeper).contains("does not exist"))
      zookeeper.close()
      server.put(path, document("d"))
      assert(topics(zookeeper) == Set("d"))
    }
  }

  test("an invalid document names node and line; below the path of the connection") {
    val path = paths.next()
    server.put(path, "version: 1\nstreams: []\n")
    val zookeeper =
      ServiceByName.create(
        "zookeeper",
        s"connectString=${server.address}/kafka",
        "timeoutMs=100000",
        s"path=${path.stripPrefix("/kafka")}"
      )
    val e = intercept[DynamicKafkaIllegalArgumentException](zookeeper.getAllStreams())
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    assert(e.getMessage.contains("of ZooKeeper at") && e.getMessage.contains("line 2, key 'streams'"))
    server.put(path, "")
    assert(
      intercept[DynamicKafkaIllegalArgumentException](zookeeper.getAllStreams()).getMessage.contains("empty")
    )
    server.put(path, document("a"))
    assert(topics(zookeeper) == Set("a"))
    zookeeper.close()
  }

  test(
    "a server that does not respond: the time limit; after its session has ended, changes are noticed again"
  ) {
    val path = paths.next()
    server.put(path, document("a"))
    watched(path, "timeoutMs=1500") { (zookeeper, changes) =>
      assert(topics(zookeeper) == Set("a"))
      server.freeze()
      try {
        // The first call has a session, the second one none any more.
        (1 to 2).foreach { _ =>
          val text = failure(zookeeper)
          assert(text.contains(s"the node $path of ZooKeeper") && text.contains("cannot be read"), text)
        }
      } finally server.thaw()
      eventually(assert(changes.get > 0 && topics(zookeeper) == Set("a")))
      val before = changes.get
      server.put(path, document("b"))
      eventually(assert(changes.get > before && topics(zookeeper) == Set("b")))
    }
  }

  test("a connection that is lost during a call: the call is repeated within its time limit") {
    val path = paths.next()
    server.put(path, document("a"))
    watched(path) { (zookeeper, _) =>
      assert(topics(zookeeper) == Set("a"))
      server.freeze()
      // Longer than a session: the client takes its connection for lost after two thirds of one.
      val thawed = Future { Thread.sleep(1000); server.thaw() }
      assert(topics(zookeeper) == Set("a"))
      Await.result(thawed, Duration.Inf)
    }
  }

  test("a server that is killed and started again: what changed meanwhile is noticed", TestAll) {
    val path = paths.next()
    server.put(path, document("a"))
    watched(path, "timeoutMs=1000") { (zookeeper, changes) =>
      assert(topics(zookeeper) == Set("a"))
      server.kill()
      assert(failure(zookeeper).contains("cannot be read"))
      val before = changes.get
      server.start()
      server.put(path, document("b"))
      eventually(assert(changes.get > before && topics(zookeeper) == Set("b")))
    }
  }

  test("credentials by reference, resolved again after they were refused, and never shown") {
    val path = paths.next()
    val owner = new Id("digest", DigestAuthenticationProvider.generateDigest("reader:hunter2"))
    server.put(path, document("a"), ju.List.of(new ACL(ZooDefs.Perms.READ, owner)))
    val file = Files.createTempFile("zookeeper", ".properties")
    Files.writeString(file, "password=hunter3\n")
    val zookeeper = service(path, s"auth=digest:reader:${reference(s"file:$file:password")}")
    val refused = failure(zookeeper)
    assert(refused.contains("NOAUTH") && !refused.contains("hunter"), refused)
    Files.writeString(file, "password=hunter2\n")
    assert(topics(zookeeper) == Set("a"))
    zookeeper.close()
    val none = service(path)
    assert(failure(none).contains("NOAUTH"))
    none.close()
  }

  test("invalid arguments, no server, and Spark without the client's classes") {
    def text(arguments: String*) = ServiceByName.answer("zookeeper", arguments.toArray)
    assert(text("path=/a").contains("'metadataService.connectString'"))
    assert(text("connectString=z:1", "path=a/b").contains("'metadataService.path'"))
    val auth = text("connectString=z:1", "path=/a", "auth=hunter2")
    assert(auth.contains("<scheme>:<credentials>") && !auth.contains("hunter2"))
    val unreachable = text("connectString=127.0.0.1:1", "path=/a", "timeoutMs=300")
    assert(unreachable.contains("no connection within 300 ms"), unreachable)
    val missing = ServiceByName.answerWithout("curator", "zookeeper", "connectString=z:1", "path=/a")
    assert(
      missing.contains("INVALID_OPTION") && missing.contains("org.apache.curator:curator-framework"),
      missing
    )
  }
}
