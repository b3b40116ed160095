package io.github.dynamickafka.metadata.service

import java.nio.file.Files
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkThrowable
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{DiscoveryOptions, ServiceOptions, Subscription}
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.service.MetadataServicesSuite._
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{KafkaMetadataService, ScriptedService, Topology}
import io.github.dynamickafka.testkit.TimeLimit

class MetadataServicesSuite extends AnyFunSuite with TimeLimit {

  private val Document = "{version: 1, clusters: {blue: {properties: {bootstrap.servers: b}}}, " +
    "streams: {orders: {clusters: {blue: {topics: [a]}}}}}"

  private def create(name: String, arguments: (String, String)*) =
    MetadataServices.create(ServiceOptions(name, arguments.toMap), new Configuration)

  private def refused(condition: String, name: String, arguments: (String, String)*)(says: String*): Unit = {
    val e = intercept[Exception with SparkThrowable](create(name, arguments: _*))
    assert(e.getCondition == s"DYNAMIC_KAFKA.$condition")
    says.foreach(s => assert(e.getMessage.contains(s)))
  }

  private def streams(service: KafkaMetadataService) = service.getAllStreams().asScala.map(_.streamId)

  test("service names are case-insensitive; argument names ignore case and hyphens") {
    val file = Files.createTempFile("streams", ".yaml")
    Files.write(file, Document.getBytes("UTF-8"))
    try
      assert(streams(create("File", "PATH" -> file.toString, "ttl-ms" -> "5")) == Set("orders"))
    finally Files.delete(file)
    assert(streams(create(" static ", "document" -> Document)) == Set("orders"))
    assert(create("static", "document" -> Document).isClusterActive("blue"))
    assert(!create("static", "document" -> Document).isClusterActive("red"))
  }

  test("single-cluster creates no client before the first call") {
    val service =
      create("Single-Cluster", "cluster-id" -> "blue", "bootstrapservers" -> "no:1", "properties.X.y" -> "1")
    assert(service.isClusterActive("blue"))
    assert(!service.isClusterActive("green"))
    service.close()
  }

  test("http sends no request before the first call") {
    val service = create("HTTP", "url" -> "http://no.such.host/", "headers.X-Y" -> "z", "timeout-ms" -> "5")
    assert(service.isInstanceOf[HttpMetadataService])
    service.close()
    refused("MISSING_OPTION", "http")("'metadataService.url'")
    refused("INVALID_OPTION", "http", "url" -> "http://a/", "timeoutMs" -> "0")("at least 1 ms")
    refused("UNKNOWN_OPTION", "http", "url" -> "http://a/", "timeout" -> "5")("'metadataService.timeoutMs'")
  }

  test("configmap, strimzi and jdbc send no request before the first call") {
    create("configmap", "namespace" -> "a", "name" -> "b", "key" -> "c", "ttlMs" -> "5").close()
    Seq("namespace", "name", "key").foreach { argument =>
      val all = Seq("namespace" -> "a", "name" -> "b", "key" -> "c").filterNot(_._1 == argument)
      refused("MISSING_OPTION", "configmap", all: _*)(s"'metadataService.$argument'")
    }
    create("strimzi", "namespace" -> "a, b", "properties.client.id" -> "me", "ttlMs" -> "5").close()
    refused("MISSING_OPTION", "strimzi", "listener" -> "tls")("'metadataService.namespace'")
    refused("INVALID_OPTION", "strimzi", "namespace" -> ",")("'metadataService.namespace'", "at least one")
    refused("INVALID_OPTION", "strimzi", "namespace" -> "a", "properties.bootstrap.servers" -> "b:1")(
      "'metadataService.properties.bootstrap.servers'",
      "listener"
    )
    val url = "url" -> "jdbc:postgresql://no.such.host/"
    create("jdbc", url, "query" -> "select 1", "properties.user" -> "me", "ttlMs" -> "5").close()
    refused("MISSING_OPTION", "jdbc", url)("'metadataService.query'")
    refused("MISSING_OPTION", "jdbc", "query" -> "select 1")("'metadataService.url'")
  }

  test("invalid arguments") {
    refused("MISSING_OPTION", "file")("'metadataService.path'")
    refused("MISSING_OPTION", "file", "path" -> " ")("'metadataService.path'")
    refused("MISSING_OPTION", "static")("'metadataService.document'")
    refused("MISSING_OPTION", "single-cluster", "clusterId" -> "a")("'metadataService.bootstrapServers'")
    refused("UNKNOWN_OPTION", "file", "paht" -> "x")(
      "'metadataService.paht'",
      "Did you mean 'metadataService.path'"
    )
    refused("UNKNOWN_OPTION", "file", "path" -> "x", "ttl" -> "1")("'metadataService.ttlMs'")
    refused("INVALID_OPTION", "file", "path" -> "x", "ttlMs" -> "soon")("'metadataService.ttlMs'", "'soon'")
    refused("INVALID_OPTION", "file", "path" -> "x", "ttlMs" -> "-1")("at least 0")
    refused("INVALID_OPTION", "file", "path" -> "x", "Path" -> "y")("twice")
    refused("INVALID_OPTION", "single-cluster", "clusterId" -> "a/b", "bootstrapServers" -> "b")(
      "'a/b'",
      "1 to 128"
    )
    refused("METADATA_INVALID", "static", "document" -> "version: 2")("of the service 'static', line 1")
  }

  test("an unknown name is refused with the valid ones") {
    refused("INVALID_OPTION", "fiel")(
      "neither a known service",
      "'file', 'static', 'single-cluster', 'http', 'configmap', 'strimzi', 'jdbc'",
      "Did you mean 'file'?"
    )
    for (store <- Seq("zookeeper", "consul", "etcd"))
      refused("INVALID_OPTION", store)(
        "neither a known service",
        "'jdbc', 'kafka-topic'; a class must"
      )
    refused("UNKNOWN_OPTION", "http", "url" -> "http://h", "store" -> "etcd")("metadataService.store")
    refused("INVALID_OPTION", "com.example.Nothing")(
      "nor a class on the class path",
      "KafkaMetadataService"
    )
  }

  test("a class given by name gets the arguments as the user wrote them") {
    create(classOf[WithMap].getName, "My-Key" -> "v") match {
      case service: WithMap => assert(service.arguments.asScala == Map("My-Key" -> "v"))
      case other => fail(s"$other")
    }
    assert(create(classOf[WithNothing].getName).isInstanceOf[WithNothing])
  }

  test("a class that cannot be a service is refused with the reason") {
    refused("INVALID_OPTION", classOf[WithNothing].getName, "a" -> "1")("required for metadataService.a")
    refused("INVALID_OPTION", classOf[NoService].getName)("does not implement")
    refused("INVALID_OPTION", classOf[WithText].getName)("no public constructor")
    refused("INVALID_OPTION", classOf[Abstract].getName)("cannot be instantiated")
    refused("INVALID_OPTION", classOf[Throwing].getName)("constructor threw RuntimeException: no table")
  }

  test("a registered service is used as it is, and no query closes it") {
    val service = new ScriptedService(() => Seq(stream("orders", "blue" -> cluster("a"))))
    val handle = ServiceRegistry.register(service)
    val forQuery = create("registered", "handle" -> handle)
    assert(streams(forQuery) == Set("orders"))
    assert(forQuery.describeStreams(ju.List.of("orders")).containsKey("orders"))
    forQuery.close()
    assert(service.closed.getCount == 1)
    assert(ServiceRegistry.lookup(handle).exists(_.service eq service))
    ServiceRegistry.unregister(handle)
    refused("INVALID_OPTION", "registered", "handle" -> handle)(
      "'metadataService.handle'",
      "no service is registered"
    )
  }

  test("a call that hangs in one query does not hold the restart of another one that shares the service") {
    val service = new ScriptedService(() => Nil)
    val handle = ServiceRegistry.register(service)
    val hung = service.hangs()
    def watcher() = MetadataWatcher(
      create("registered", "handle" -> handle),
      Subscription.Ids(Seq("orders")),
      DiscoveryOptions(
        intervalMs = 3600000,
        failureThreshold = 10,
        callTimeoutMs = 300,
        allowMissingStreams = false
      ),
      "shared"
    )
    try
      Using.Manager { use =>
        use(watcher()).awaitFirstAttempt()
        assert(service.isHanging)
        val second = use(watcher())
        val restarted = CompletableFuture.supplyAsync(() => second.awaitFirstAttempt(Some(Topology.empty)))
        assert(restarted.get(20, TimeUnit.SECONDS).isEmpty)
      }.get
    finally hung.countDown()
    ServiceRegistry.unregister(handle)
  }

  test("queries that share a service never call it concurrently") {
    val service = new ScriptedService(() => Seq(stream("orders", "blue" -> cluster("a"))))
    val handle = ServiceRegistry.register(service)
    val hung = service.hangs()
    val threads = (1 to 3).map { _ =>
      val forQuery = create("registered", "handle" -> handle)
      val thread = new Thread(() => { forQuery.getAllStreams(); () })
      thread.start()
      thread
    }
    hung.countDown()
    threads.foreach(_.join())
    assert(service.calls.get == 3)
    assert(service.mostAtOnce.get == 1)
    ServiceRegistry.unregister(handle)
  }
}

object MetadataServicesSuite {
  class WithMap(val arguments: ju.Map[String, String]) extends ScriptedService(() => Seq.empty)
  class WithNothing extends ScriptedService(() => Seq.empty)
  class WithText(text: String) extends ScriptedService(() => throw new IllegalStateException(text))
  class NoService
  abstract class Abstract extends ScriptedService(() => Seq.empty)
  class Throwing extends ScriptedService(() => Seq.empty) {
    if (calls.get == 0) sys.error("no table")
  }
}
