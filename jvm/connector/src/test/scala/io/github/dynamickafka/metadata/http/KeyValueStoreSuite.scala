package io.github.dynamickafka.metadata.http

import java.io.IOException
import java.nio.file.Files
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.registry.ServiceByName
import io.github.dynamickafka.testkit.TimeLimit

/** Documents in Consul and in etcd, whose APIs the service `http` knows. */
class KeyValueStoreSuite extends AnyFunSuite with TimeLimit with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private val Key = "kafka/ströme & more.yaml"

  private def document(topic: String) =
    s"""version: 1
       |clusters: {blue: {properties: {bootstrap.servers: "b:1"}}}
       |streams: {orders: {clusters: {blue: {topics: [$topic]}}}}
       |""".stripMargin

  private def service(store: String, server: KeyValueServer, more: String*): KafkaMetadataService =
    ServiceByName.create("http", Seq(s"url=${server.url}", s"store=$store", s"key=$Key") ++ more: _*)

  private def topics(service: KafkaMetadataService): Set[String] =
    service.describeStreams(
      ju.List.of("orders")
    ).get("orders").getClusterMetadataMap.get("blue").getTopics.asScala.toSet

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](service.getAllStreams()))

  private def with_[S <: KeyValueServer](server: S)(body: S => Unit): Unit =
    try body(server)
    finally server.close()

  /** What an installed etcd is started as, if there is one. */
  private val etcd = sys.env.get("ETCD").filter(_.nonEmpty)

  private val all = Seq[(String, String, () => KeyValueServer)](
    ("Consul", "consul", () => new ConsulDouble),
    ("etcd", "etcd", () => new EtcdDouble)
  ) ++ etcd.map(binary => ("a real etcd", "etcd", () => new EtcdProcess(binary)))

  for ((name, store, start) <- all) {

    test(s"$name: the document under the key, changes at once, a key that is missing") {
      with_(start()) { server =>
        // A cached answer does not hide a change.
        val http = service(store, server, "ttlMs=3600000")
        assert(failure(http).contains(s"at ${server.url}, key '$Key' does not exist"))
        server.put(Key, document("a"))
        val changes = new AtomicInteger
        val notices = http.onChange { () =>
          val _ = changes.incrementAndGet()
        }
        eventually(assert(changes.get > 0))
        assert(topics(http) == Set("a"))
        for (topic <- Seq("b", "c")) {
          val before = changes.get
          server.put(Key, document(topic))
          eventually(assert(changes.get > before))
          assert(topics(http) == Set(topic))
        }
        val before = changes.get
        server.delete(Key)
        eventually(assert(changes.get > before))
        assert(failure(http).contains("does not exist"))
        notices.close()
        http.close()
      }
    }

    test(s"$name: a change while the store was down is noticed when it is back") {
      with_(start()) { server =>
        server.put(Key, document("a"))
        val http = service(store, server)
        val changes = new AtomicInteger
        val notices = http.onChange { () =>
          val _ = changes.incrementAndGet()
        }
        eventually(assert(changes.get > 0))
        server.stop()
        val down = failure(http)
        assert(down.contains(server.url), down)
        val before = changes.get
        server.start()
        server.put(Key, document("b"))
        eventually(assert(changes.get > before))
        assert(topics(http) == Set("b"))
        notices.close()
      }
    }

    test(s"$name: an invalid document names store, key and line") {
      with_(start()) { server =>
        server.put(Key, "version: 1\nstreams: []\n")
        val e = intercept[DynamicKafkaIllegalArgumentException](topics(service(store, server)))
        assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
        assert(e.getMessage.contains(s"at ${server.url}, key '$Key', line 2, key 'streams'"), e.getMessage)
        server.put(Key, "")
        assert(intercept[DynamicKafkaIllegalArgumentException](topics(service(store, server))).getMessage
          .contains("is empty"))
      }
    }
  }

  for (
    (name, store, start) <- Seq[(String, String, () => KeyValueDouble)](
      ("Consul", "consul", () => new ConsulDouble),
      ("etcd", "etcd", () => new EtcdDouble)
    )
  )
    test(
      s"$name: headers and the query of the address are sent, and never shown; other responses are failures"
    ) {
      with_(start()) { server =>
        server.put(Key, document("a"))
        val file = Files.createTempFile("store", ".properties")
        Files.writeString(file, "token=hunter3\n")
        val http = ServiceByName.create(
          "http",
          s"url=${server.url}/?dc=hunter4",
          s"store=$store",
          s"key=$Key",
          s"headers.X-Token=${reference(s"file:$file:token")}"
        )
        assert(topics(http) == Set("a"))
        val notices = http.onChange(() => ())
        eventually(assert(server.asked.size > 1))
        notices.close()
        assert(server.asked.forall { case (uri, headers) =>
          uri.contains("?dc=hunter4") && headers("x-token") == "hunter3"
        })
        for (
          (answer, says) <- Seq(
            (403, "Permission denied: hunter5") -> "responded with status 403",
            (500, "") -> "responded with status 500",
            (302, "") -> "a redirect, which is not followed",
            (200, "<html>log in</html>") -> "is not that of such a store",
            (200, "[]") -> "is not that of such a store",
            (200, """{"header": {}, "kvs": [{"value": "%"}]}""") -> "is not that of such a store"
          )
        ) {
          server.instead = Some(answer)
          val text = failure(http)
          assert(text.contains(says) && text.contains(server.url) && !text.contains("hunter"), text)
        }
      }
    }

  test("Consul: neighbours do not matter, and an index that becomes smaller is used from then on") {
    with_(new ConsulDouble) { server =>
      server.put(Key, document("a"))
      val http = service("consul", server)
      val changes = new AtomicInteger
      val notices = http.onChange { () =>
        val _ = changes.incrementAndGet()
      }
      eventually(assert(changes.get == 1 && server.asked.last._1.contains("index=8")))
      server.put("kafka/other", "x")
      eventually(assert(server.asked.last._1.contains("index=9")))
      assert(changes.get == 1)
      server.restore()
      server.put(Key, document("b"))
      eventually(assert(changes.get >= 2 && server.asked.last._1.contains("index=4")))
      notices.close()
    }
  }

  test("what is missing or wrong among the options") {
    def text(arguments: String*) = ServiceByName.answer("http", arguments.toArray)
    assert(text("url=http://c", "store=consul").contains("'metadataService.key'"))
    assert(text("url=http://c", "key=a").contains("'metadataService.store'"))
    assert(text("url=http://c", "store=vault", "key=a").contains("it is not one of 'consul', 'etcd'"))
    assert(text("url=http://c/v1/kv/a", "store=consul", "key=a").contains("without '/v1/kv/'"))
    assert(ServiceByName.create("http", "url=http://c").onChange(() => ()) == null)
  }
}
