package io.github.dynamickafka.metadata.remote

import java.io.IOException
import java.net.ServerSocket
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.fabric8.kubernetes.api.model.ConfigMapBuilder
import io.fabric8.kubernetes.client.{Config, ConfigBuilder, KubernetesClient}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.remote.ApiServerDouble.withServer
import io.github.dynamickafka.metadata.service.{ServiceArguments, ServiceByName}
import io.github.dynamickafka.testkit.TimeLimit

class KubernetesConfigMapMetadataServiceSuite extends AnyFunSuite with TimeLimit with Eventually {

  private val Path = "/api/v1/namespaces/data/configmaps/streams"
  private val Watch =
    "/api/v1/namespaces/data/configmaps?allowWatchBookmarks=true&fieldSelector=metadata.name%3Dstreams&watch=true"

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private def document(topic: String) =
    s"""version: 1
       |clusters:
       |  blue: {properties: {bootstrap.servers: "b:1"}}
       |streams:
       |  orders: {clusters: {blue: {topics: [$topic]}}}
       |""".stripMargin

  private def put(client: KubernetesClient, data: (String, String)*): Unit = {
    val map = new ConfigMapBuilder()
      .withNewMetadata().withNamespace("data").withName("streams").endMetadata()
      .withData(data.toMap.asJava).build()
    val existing = client.configMaps().inNamespace("data").withName("streams")
    if (existing.get() == null) client.resource(map).create() else client.resource(map).update()
    ()
  }

  private def service(client: KubernetesClient, ttlMs: Long = 0) =
    at("streams.yaml", 60000, ttlMs, client.getConfiguration)

  private def at(key: String, timeoutMs: Long, ttlMs: Long, config: => Config) =
    new KubernetesConfigMapMetadataService(
      ServiceArguments(
        MetadataServiceSpecs.ConfigMap,
        "namespace" -> "data",
        "name" -> "streams",
        "key" -> key,
        "timeoutMs" -> timeoutMs.toString,
        "ttlMs" -> ttlMs.toString
      ),
      () => config
    )

  private def topics(service: KafkaMetadataService): Set[String] =
    service.describeStreams(
      ju.List.of("orders")
    ).get("orders").getClusterMetadataMap.get("blue").getTopics.asScala.toSet

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](service.getAllStreams()))

  test("the document under the key; an edit is seen by the next call; usable again after close") {
    withServer { (_, client) =>
      put(client, "streams.yaml" -> document("a"), "other" -> "x")
      val maps = service(client)
      assert(topics(maps) == Set("a"))
      put(client, "streams.yaml" -> document("b"))
      assert(topics(maps) == Set("b"))
      maps.close()
      assert(topics(maps) == Set("b"))
      maps.close()
    }
  }

  test("a missing ConfigMap, a missing key, an invalid document: failures that name it, until corrected") {
    withServer { (_, client) =>
      val maps = service(client)
      assert(failure(maps) == "IOException: ConfigMap data/streams does not exist")
      put(client)
      assert(failure(maps).contains("no key 'streams.yaml' and no other key"))
      put(client, "b.yaml" -> document("a"), "a.yaml" -> document("a"))
      assert(failure(maps).contains("no key 'streams.yaml'; its keys are a.yaml, b.yaml"))
      put(client, "streams.yaml" -> "version: 1\nstreams: []\n")
      val e = intercept[DynamicKafkaIllegalArgumentException](topics(maps))
      assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
      assert(e.getMessage.contains("ConfigMap data/streams, key 'streams.yaml', line 2, key 'streams'"))
      put(client, "streams.yaml" -> document("a"))
      assert(topics(maps) == Set("a"))
      maps.close()
    }
  }

  test("an error response or an unreachable server: one attempt, until the server is back") {
    withServer { (server, client) =>
      put(client, "streams.yaml" -> document("a"))
      val maps = service(client)
      val before = server.getRequestCount
      server.expect().get().withPath(Path).andReturn(503, "").once()
      val refused = failure(maps)
      assert(
        refused.contains("ConfigMap data/streams cannot be read") && refused.contains("Service Unavailable")
      )
      assert(server.getRequestCount == before + 1)
      assert(topics(maps) == Set("a"))
      server.shutdown()
      // With a new connection: an old one may or may not have noticed the shutdown.
      maps.close()
      val away = failure(maps)
      assert(away.contains("ConfigMap data/streams cannot be read") && away.contains("refused"), away)
      maps.close()
    }
  }

  test("a change is noticed at once, whatever is cached") {
    withServer { (_, client) =>
      put(client, "streams.yaml" -> document("a"))
      val maps = service(client, ttlMs = 3600000)
      val changes = new AtomicInteger
      val notices = maps.onChange { () =>
        val _ = changes.incrementAndGet()
      }
      eventually(assert(changes.get > 0))
      for (topic <- Seq("b", "c")) {
        val before = changes.get
        put(client, "streams.yaml" -> document(topic))
        eventually(assert(changes.get > before && topics(maps) == Set(topic)))
      }
      notices.close()
      val after = changes.get
      put(client, "streams.yaml" -> document("d"))
      assert(changes.get == after)
      maps.close()
    }
  }

  test("without the right to watch, each poll reads the ConfigMap, and the watch begins with the right") {
    withServer { (server, client) =>
      put(client, "streams.yaml" -> document("a"))
      server.expect().get().withPath(Watch).andReturn(403, "").times(2)
      val maps = service(client)
      val changes = new AtomicInteger
      val notices = maps.onChange { () =>
        val _ = changes.incrementAndGet()
      }
      put(client, "streams.yaml" -> document("b"))
      assert(topics(maps) == Set("b"))
      eventually(assert(changes.get > 0))
      val before = changes.get
      put(client, "streams.yaml" -> document("c"))
      eventually(assert(changes.get > before && topics(maps) == Set("c")))
      notices.close()
      maps.close()
    }
  }

  test("a server that does not respond: the time limit") {
    val mute = new ServerSocket(0)
    val config = new ConfigBuilder().withMasterUrl(s"http://localhost:${mute.getLocalPort}").build()
    val maps = at("k", 300, 0, config)
    try {
      val late = failure(maps)
      assert(late.contains("ConfigMap data/streams cannot be read") && late.contains("300ms"), late)
    } finally {
      maps.close()
      mute.close()
    }
  }

  test("an answer is reused within its time to live") {
    withServer { (_, client) =>
      put(client, "streams.yaml" -> document("a"))
      val maps = service(client, ttlMs = 3600000)
      assert(topics(maps) == Set("a"))
      put(client, "streams.yaml" -> document("b"))
      assert(topics(maps) == Set("a"))
      maps.close()
    }
  }

  test("created by name, it finds the server like all Kubernetes clients") {
    withServer { (server, client) =>
      put(client, "streams.yaml" -> document("a"))
      val settings = Map("kubernetes.master" -> server.url("/"), "kubernetes.auth.tryKubeConfig" -> "false")
      settings.foreach { case (k, v) => System.setProperty(k, v) }
      try {
        val maps = ServiceByName.create(
          "ConfigMap",
          "namespace=data",
          "name=streams",
          "key=streams.yaml",
          "timeoutMs=60000"
        )
        assert(topics(maps) == Set("a"))
        maps.close()
      } finally settings.keys.foreach(System.clearProperty)
    }
  }

  test("without the client's classes the error says what to add") {
    val text = ServiceByName.answerWithout("kubernetes", "configmap")
    assert(text.contains("DYNAMIC_KAFKA.INVALID_OPTION"))
    assert(text.contains("'org.apache.spark:spark-kubernetes_2.13:") && text.contains("spark.jars.packages"))
  }
}
