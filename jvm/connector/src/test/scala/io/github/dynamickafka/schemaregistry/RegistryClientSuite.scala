package io.github.dynamickafka.schemaregistry

import java.nio.file.Files
import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, DynamicKafkaRuntimeException}
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, serving, settingsOf}
import io.github.dynamickafka.testkit.{LocalCertificates, TimeLimit}
import io.github.dynamickafka.time.Clock

class RegistryClientSuite extends AnyFunSuite with TimeLimit {

  /** Pauses take no time. */
  private final class Paused extends Clock {
    private val ms = new AtomicLong
    override def nanoTime(): Long = ms.get * 1000000L
    override def currentTimeMillis(): Long = ms.get
    override def pauseMs(pause: Long): Unit = {
      val _ = ms.addAndGet(pause)
    }
  }

  private def client = RegistryClient(new Paused)

  private def failure(body: => Any): DynamicKafkaRuntimeException =
    intercept[DynamicKafkaRuntimeException] {
      val _ = body
    }

  private def assertUnavailable(e: DynamicKafkaRuntimeException, parts: String*): Unit = {
    assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE")
    parts.foreach(part => assert(e.getMessage.contains(part), e.getMessage))
  }

  test("a schema by its id, with the schemas that it refers to") {
    serving { server =>
      val inner = server.register("inner", """{"type":"fixed","name":"a.Inner","size":1}""")
      assert(inner == 1)
      val middle = """{"type":"record","name":"a.Middle","fields":[{"name":"i","type":"a.Inner"}]}"""
      server.register("middle", middle, references = """[{"name":"a.Inner","subject":"inner","version":1}]""")
      val id = server.register(
        "outer",
        """{"type":"record","name":"a.Outer","fields":[{"name":"m","type":"a.Middle"}]}""",
        references = """[{"name":"a.Middle","subject":"middle","version":1}]"""
      )
      val found = client.schema(server.settings(), id).get
      assert(found.kind == "AVRO" && found.text.contains("a.Outer"))
      assert(found.references.map(_.name) == Seq("a.Inner", "a.Middle"))
      val json = server.register("json", "{}", "JSON")
      assert(client.schema(server.settings(), json).map(_.kind).contains("JSON"))
    }
  }

  test("the newest version of a subject, whose name may contain any character") {
    serving { server =>
      server.register("a/b c-value", "\"int\"")
      val id = server.register("a/b c-value", "\"long\"")
      assert(
        client.latest(server.settings(), "a/b c-value")
          .contains(LatestSchema(id, 2, RegisteredSchema("AVRO", "\"long\"")))
      )
      assert(client.latest(server.settings(), "other").isEmpty)
    }
  }

  test("an unknown id is no failure, unless something else than a registry says so") {
    serving { server =>
      assert(client.schema(server.settings(), 7).isEmpty)
      assert(server.requests.size == 1)
      assertUnavailable(
        failure(client.schema(settingsOf(server.url + "/wrong"), 7)),
        "status 404",
        "schema id 7",
        "cluster 'blue'",
        server.url
      )
      server.behave = _ => Some(Answer(404, "<html>no such page</html>"))
      assertUnavailable(failure(client.schema(server.settings(), 7)), "status 404")
    }
  }

  test("server errors, closed connections and other pages are asked again until the limit") {
    serving { server =>
      val id = server.register("s", "\"int\"")
      val count = new AtomicInteger
      Seq(
        Answer(503),
        Answer(500, "{}"),
        Answer(429),
        Answer(200, "<html>log in</html>"),
        Answer(200, "")
      ).foreach {
        bad =>
          count.set(0)
          server.behave = _ => Option.when(count.incrementAndGet() <= 3)(bad)
          assert(client.schema(server.settings(), id).isDefined, bad)
          assert(count.get == 4, bad)
      }
      server.behave = _ => Some(Answer(503, """{"error_code": 50301}"""))
      assertUnavailable(
        failure(client.schema(server.settings("timeoutMs" -> "30s"), id)),
        "status 503",
        "schema id 1"
      )
      server.stop()
      assertUnavailable(failure(client.schema(server.settings("timeoutMs" -> "2s"), id)), "ConnectException")
      server.start()
      server.behave = _ => None
      assert(client.schema(server.settings(), id).isDefined)
    }
  }

  test("a registry that accepts the connection and never answers") {
    serving { server =>
      val end = new CountDownLatch(1)
      server.behave = { _ =>
        end.await()
        None
      }
      try {
        val e = failure(RegistryClient(Clock.System).schema(server.settings("timeoutMs" -> "300"), 1))
        assertUnavailable(e, "no complete response within 300 ms")
      } finally end.countDown()
    }
  }

  test("several addresses of one registry: the next one after a failure") {
    serving { server =>
      val id = server.register("s", "\"int\"")
      val dead = serving(_.url)
      assert(client.schema(settingsOf(s"$dead, ${server.url}/"), id).isDefined)
      val e = failure(client.schema(settingsOf(s"$dead,$dead/x", "timeoutMs" -> "1s"), id))
      assertUnavailable(e, s"$dead,$dead/x")
    }
  }

  test("refused credentials are not asked again, and a redirect does not receive them") {
    serving { server =>
      Seq(401, 403).foreach { status =>
        server.behave = _ => Some(Answer(status, """{"error_code": 40301}"""))
        val before = server.requests.size
        val e = failure(client.schema(server.settings("basicAuth.userInfo" -> "u:secret-password"), 5))
        assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_AUTHENTICATION_FAILED")
        Seq("schema id 5", s"status $status", "cluster 'blue'", server.url).foreach(part =>
          assert(e.getMessage.contains(part), part)
        )
        assert(!e.getMessage.contains("secret-password"))
        assert(server.requests.size == before + 1)
      }
      serving { other =>
        server.behave = _ => Some(Answer(302, "", Map("Location" -> s"${other.url}/schemas/ids/1")))
        assertUnavailable(failure(client.schema(server.settings("bearerAuth.token" -> "t"), 1)), "status 302")
        assert(other.requests.isEmpty)
      }
    }
  }

  test("credentials by reference are resolved for each request") {
    serving { server =>
      val file = Files.createTempFile("registry", ".properties")
      Files.writeString(file, "user=me:first\ntoken=one\n")
      val basic = server.settings("basicAuth.userInfo" -> reference(s"file:$file:user"))
      val bearer = server.settings("bearerAuth.token" -> reference(s"file:$file:token"))
      def sent(settings: RegistrySettings) = {
        client.schema(settings, 1)
        server.requests.last.headers("authorization")
      }
      def encoded(text: String) = java.util.Base64.getEncoder.encodeToString(text.getBytes)
      assert(sent(basic) == s"Basic ${encoded("me:first")}")
      assert(sent(bearer) == "Bearer one")
      Files.writeString(file, "user=me:second\ntoken=two\n")
      assert(sent(basic) == s"Basic ${encoded("me:second")}")
      assert(sent(bearer) == "Bearer two")
      Files.delete(file)
      assertUnavailable(failure(client.schema(basic, 1)), "ConfigException")
      val invalid = server.settings("bearerAuth.token" -> "secret\u0000text")
      val e = failure(client.schema(invalid, 1))
      assertUnavailable(e, "invalid in a header")
      assert(!e.getMessage.contains("secret") && e.getCause == null)
      assert(!invalid.toString.contains("secret") && !invalid.resolved().toString.contains("secret"))
    }
  }

  test("what is written begins with the id at the registry of its cluster, in the subject of its topic") {
    serving { blue =>
      serving { green =>
        green.register("other", "\"int\"")
        val url = RegistryOptionSpecs.Url.key
        val registries = Registries(Map(url -> blue.url), Map("green.registry.url" -> green.url))
        val schema = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
        def framing(of: Registries, ofKeys: Boolean, known: (Frame.Place, Int)*) =
          new Framing(Frame(of, schema, ofKeys), known.toMap, new SchemaRegistrar(client))
        val values = framing(registries, ofKeys = false)
        (1 to 2).foreach { _ =>
          assert(values.framed("blue", "t", Array(9)).toSeq == Seq[Byte](0, 0, 0, 0, 1, 9))
          assert(values.framed("green", "t", Array(9)).toSeq == Seq[Byte](0, 0, 0, 0, 2, 9))
        }
        assert(blue.paths == Seq("/subjects/t-value/versions"))
        val keys = framing(registries, ofKeys = true)
        assert(keys.framed("blue", "t", Array.empty).toSeq == Seq[Byte](0, 0, 0, 0, 1))
        assert(blue.paths.last == "/subjects/t-key/versions")
        val named = Registries(Map(url -> blue.url, RegistryOptionSpecs.Subject.key -> "s"))
        val refusing =
          named.copy(shared = named.shared + (RegistryOptionSpecs.AutoRegister.key -> "false"))
        val e = failure(framing(refusing, ofKeys = false).framed("blue", "t", Array.empty))
        assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && e.getMessage.contains("'s'"))
        framing(named, ofKeys = false).framed("blue", "t", Array.empty)
        assert(blue.paths.last == "/subjects/s/versions")
        val before = blue.requests.size
        val known = framing(named, ofKeys = false, Frame.Place("blue", "t", ofKeys = false) -> 7)
        assert(known.framed("blue", "t", Array.empty).toSeq == Seq[Byte](0, 0, 0, 0, 7))
        assert(blue.requests.size == before)
      }
    }
  }

  test(
    "a schema of a registry has the id of the newest version, and is not sent; one with references never is"
  ) {
    serving { server =>
      val references = """[{"name": "x", "subject": "x", "version": 1}]"""
      server.register("x", "\"int\"")
      val id = server.register("s", "\"long\"", references = references)
      val registered = client.latest(server.settings(), "s").map(_.schema)
      assert(registered.exists(_.references.map(_.name) == Seq("x")))
      val own = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
      Seq(true, false).foreach(auto =>
        assert(new SchemaRegistrar(client).id(server.settings(), "s", own, auto, registered) == id)
      )
      assert(!server.requests.exists(_.method == "POST"))
      server.register("s", "\"double\"")
      val e =
        failure(new SchemaRegistrar(client).id(server.settings(), "s", registered.get, true, registered))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && e.getMessage.contains("refers to others"))
    }
  }

  test("TLS: an authority in registry.ssl.*; another one fails at once, and the text says what to set") {
    def certificates(name: String) =
      new LocalCertificates(Files.createTempDirectory("registry").resolve(name))
    val (own, other) = (certificates("own"), certificates("other"))
    val server = new RegistryServer(tls = Some(own.context))
    try {
      val id = server.register("s", "\"int\"")
      assert(client.schema(server.settings(own.trusting.toSeq: _*), id).map(_.text).contains("\"int\""))
      for (trusting <- Seq(other.trusting, Map.empty[String, String])) {
        val settings = server.settings(trusting.toSeq :+ ("timeoutMs" -> "600000"): _*)
        val e = failure(client.schema(settings, id))
        assertUnavailable(e, "its certificate is not trusted")
        assert(
          e.getMessage.contains("registry.ssl.truststore") && e.getMessage.contains("'blue'"),
          e.getMessage
        )
      }
      assert(server.requests.size == 1)
    } finally server.close()
  }

  test("TLS: a registry that asks for the certificate in registry.ssl.keystore.*, as files and as texts") {
    val own = new LocalCertificates(Files.createTempDirectory("registry").resolve("own"), clients = true)
    val server = new RegistryServer(tls = Some(own.context), asksClients = true)
    try {
      val id = server.register("s", "\"int\"")
      val file = Files.createTempFile("registry", ".properties")
      Files.writeString(file, s"password=${own.client("ssl.keystore.password")}\n")
      val byReference = own.client + ("ssl.keystore.password" -> reference(s"file:$file:password"))
      for (accepted <- Seq(own.client, own.clientInPem, byReference))
        assert(client.schema(server.settings(accepted.toSeq: _*), id).map(_.text).contains("\"int\""))
      assert(server.requests.size == 3)
      for (refused <- Seq(own.trusting, own.expiredClient)) {
        val settings = server.settings(refused.toSeq :+ ("timeoutMs" -> "500"): _*)
        val e = failure(client.schema(settings, id))
        assertUnavailable(e, s"schema id $id", "cluster 'blue'", server.url)
        assert(!e.getMessage.contains(own.client("ssl.keystore.password")))
      }
      val wrong = server.settings((own.client + ("ssl.keystore.password" -> "secret-wrong")).toSeq: _*)
      val e = failure(client.schema(wrong, id))
      assertUnavailable(e, "cluster 'blue'")
      assert(!e.getMessage.contains("secret-wrong") && server.requests.size == 3)
    } finally server.close()
  }

  test("a schema is registered once, or looked up") {
    serving { server =>
      val registrar = new SchemaRegistrar(client)
      val schema = RegisteredSchema(RegisteredSchema.Json, """{"type": "object"}""")
      val e = failure(registrar.id(server.settings(), "t-value", schema, autoRegister = false))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND")
      assert(e.getMessage.contains("t-value") && e.getMessage.contains("registry.autoRegister"))
      assert(!server.requests.exists(_.path.endsWith("/versions")))
      val id = registrar.id(server.settings(), "t-value", schema, autoRegister = true)
      assert(client.schema(server.settings(), id).contains(schema))
      val before = server.requests.size
      assert(registrar.id(server.settings(), "t-value", schema, autoRegister = true) == id)
      assert(server.requests.size == before)
      assert(new SchemaRegistrar(client).id(server.settings(), "t-value", schema, autoRegister = false) == id)

      server.behave = _ => Some(Answer(409, """{"error_code": 409, "message": "incompatible"}"""))
      val refused = intercept[DynamicKafkaIllegalArgumentException](
        registrar.id(server.settings(), "t-value", schema.copy(text = "{}"), autoRegister = true)
      )
      assert(
        refused.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA" && refused.getMessage.contains("'t-value'")
      )
    }
  }
}
