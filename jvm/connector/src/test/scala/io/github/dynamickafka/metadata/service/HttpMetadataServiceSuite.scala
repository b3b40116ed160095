package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.nio.file.Files
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicReference
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.config.Options.{reference, refused}
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, FailureText}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.service.DocumentServer.{Answer, serving}
import io.github.dynamickafka.testkit.TimeLimit

class HttpMetadataServiceSuite extends AnyFunSuite with TimeLimit {

  private def document(topic: String) =
    s"""{"version": 1, "clusters": {"blue": {"properties": {"bootstrap.servers": "b:1"}}},
       | "streams": {"orders": {"clusters": {"blue": {"topics": ["$topic"]}}}}}""".stripMargin

  private def service(
      url: String,
      headers: Map[String, String] = Map.empty,
      timeoutMs: Long = 60000,
      ttlMs: Long = 0
  ) = new HttpMetadataService(ServiceArguments(
    MetadataServiceSpecs.Http,
    headers.map { case (name, value) => s"headers.$name" -> value }.toSeq ++
      Seq("url" -> url, "timeoutMs" -> timeoutMs.toString, "ttlMs" -> ttlMs.toString): _*
  ))

  private def topics(service: KafkaMetadataService): Set[String] =
    service.describeStreams(
      ju.List.of("orders")
    ).get("orders").getClusterMetadataMap.get("blue").getTopics.asScala.toSet

  private def failure(service: KafkaMetadataService): String =
    FailureText.of(intercept[IOException](service.getAllStreams()))

  test("JSON and YAML, and a change is seen by the next call") {
    serving { server =>
      val http = service(server.url)
      server.answer = Answer(200, document("a"))
      assert(topics(http) == Set("a"))
      server.answer = Answer(
        200,
        "version: 1\nclusters: {blue: {properties: {bootstrap.servers: b}}}\n" +
          "streams: {orders: {clusters: {blue: {topics: [b, c]}}}}\n"
      )
      assert(topics(http) == Set("b", "c"))
      assert(http.isClusterActive("blue") && !http.isClusterActive("red"))
      assert(server.asked.forall(_("accept").contains("application/json")))
      http.close()
      assert(topics(http) == Set("b", "c"))
    }
  }

  test("an unchanged document is not sent again: the next request has its ETag") {
    serving { server =>
      val http = service(server.url)
      server.answer = Answer(200, document("a"), tag = Some("\"1\""))
      assert(topics(http) == Set("a") && topics(http) == Set("a"))
      server.answer = Answer(200, document("b"), tag = Some("W/\"2\""))
      assert(topics(http) == Set("b") && topics(http) == Set("b"))
      server.answer = Answer(200, document("c"))
      assert(topics(http) == Set("c") && topics(http) == Set("c"))
      val tags = server.asked.map(_.get("if-none-match"))
      assert(tags == Seq(None, Some("\"1\""), Some("\"1\""), Some("W/\"2\""), Some("W/\"2\""), None))
    }
  }

  test("an invalid document: the error has address, line and key, and its ETag is not stored") {
    serving { server =>
      val http = service(server.url)
      server.answer = Answer(200, document("a"), tag = Some("\"1\""))
      assert(topics(http) == Set("a"))
      server.answer = Answer(200, "version: 1\nstreams: []\n", tag = Some("\"2\""))
      (1 to 2).foreach { _ =>
        val e = intercept[DynamicKafkaIllegalArgumentException](topics(http))
        assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
        assert(e.getMessage.contains(s"${server.url}, line 2, key 'streams'"))
      }
      assert(server.asked.last("if-none-match") == "\"1\"")
      server.answer = Answer(200, "")
      assert(intercept[DynamicKafkaIllegalArgumentException](topics(http)).getMessage.contains("is empty"))
    }
  }

  test(
    "other statuses, a redirect, no server: failures that name the address, until the server is back"
  ) {
    serving { server =>
      val http = service(server.url)
      Seq(204, 401, 404, 500, 503).foreach { status =>
        server.answer = Answer(status, "")
        assert(failure(http).endsWith(s"${server.url} responded with status $status"))
      }
      server.answer = Answer(304, "")
      assert(failure(http).endsWith("status 304"))
      server.answer = Answer(302, "", headers = Map("Location" -> "http://elsewhere/?token=hunter2"))
      val redirect = failure(http)
      assert(
        redirect.contains("status 302") && redirect.contains("not followed") && !redirect.contains("hunter2")
      )
      server.stop()
      assert(failure(http).contains(s"the request to ${server.url} failed, caused by ConnectException"))
      server.answer = Answer(200, document("a"))
      server.start()
      assert(topics(http) == Set("a"))
    }
  }

  test("a response that is longer than any document is not read to its end") {
    serving { server =>
      server.answer = Answer(200, document("a") + "\n#" + "x" * (20 * 1024 * 1024))
      assert(failure(service(server.url)).contains("the response has more than 16 MB"))
      server.answer = Answer(200, document("a"))
      assert(topics(service(server.url)) == Set("a"))
    }
  }

  test("the time limit includes the whole response, and an interrupted caller returns at once") {
    serving { server =>
      val never = new CountDownLatch(1)
      server.answer = Answer(200, document("a"), halfway = Some(never))
      assert(failure(service(
        server.url,
        timeoutMs = 2000
      )).contains("no complete response within 2000 ms"))
      val ended = new AtomicReference[Throwable]
      val caller = new Thread(() =>
        try service(server.url).getAllStreams()
        catch { case e: Throwable => ended.set(e) }
      )
      caller.start()
      caller.interrupt()
      caller.join()
      assert(ended.get.isInstanceOf[InterruptedException])
      never.countDown()
    }
  }

  test("references in headers are resolved for each request, so a rotated token is used") {
    val folder = Files.createTempDirectory("secrets")
    val (file, token) = (folder.resolve("http.properties"), folder.resolve("token"))
    Files.writeString(file, "token=hunter2\n")
    Files.writeString(token, "hunter3\n")
    serving { server =>
      server.answer = Answer(200, document("a"))
      val http = service(
        server.url,
        Map(
          "Authorization" -> s"Bearer ${reference(s"file:$file:token")}",
          "X-Token" -> reference(s"dir:$folder:token"),
          "X-Plain" -> "plain",
          "accept" -> "text/plain"
        )
      )
      topics(http)
      Files.writeString(file, "token=hunter4\n")
      topics(http)
      assert(server.asked.map(_("authorization")) == Seq("Bearer hunter2", "Bearer hunter4"))
      assert(server.asked.map(_("x-token")) == Seq("hunter3", "hunter3"))
      assert(server.asked.map(h => h("x-plain") -> h("accept")).distinct == Seq("plain" -> "text/plain"))
      Files.writeString(file, "other=hunter5\n")
      val e = intercept[Exception](topics(http))
      assert(e.getMessage.contains(s"the reference ${reference(s"file:$file:token")}"))
      assert(server.asked.size == 2)
    }
  }

  test("no error contains the value of a header or the query of the address") {
    serving { server =>
      val file = Files.createTempFile("http", ".properties")
      Files.writeString(file, "token=hunter2\\r\\nX-Other: 1\n")
      val url = s"${server.url}?token=hunter3"
      val broken = failure(service(url, Map("Authorization" -> reference(s"file:$file:token"))))
      assert(broken.contains("'Authorization'"))
      server.answer = Answer(500, "hunter4")
      val refusedByServer = failure(service(url, Map("Authorization" -> "hunter2")))
      assert(refusedByServer.contains(s"${server.url}?(redacted) responded with status 500"))
      assert(Seq(broken, refusedByServer).forall(!_.contains("hunter")))
    }
  }

  test("invalid addresses and headers are refused when the service is created") {
    def says(url: String, text: String, headers: (String, String)*): Unit = {
      val e = refused(service(url, headers.toMap))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains(text), e.getMessage)
      assert(!e.getMessage.contains("hunter2"))
    }
    says("http://user:hunter2@host/", "'metadataService.headers.Authorization'")
    says("http://hunter2@/", "'metadataService.headers.Authorization'")
    says("ftp://host/hunter2", "the form http://host/path")
    says("/hunter2", "the form http://host/path")
    says("http://host/hunter2 and more", "not a valid URL: Illegal character")
    says("http://host/", "metadataService.headers.Not a name", "Not a name" -> "hunter2")
    says("http://host/", "restricted header name", "Host" -> "hunter2")
  }

  test("an answer is reused within its time to live, a failure is not") {
    serving { server =>
      val http = service(server.url, ttlMs = 3600000)
      server.answer = Answer(500, "")
      failure(http)
      server.answer = Answer(200, document("a"))
      assert(topics(http) == Set("a"))
      server.answer = Answer(200, document("b"))
      assert(topics(http) == Set("a"))
      assert(server.asked.size == 2)
    }
  }
}
