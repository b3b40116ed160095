package io.github.dynamickafka.schemaregistry

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, serving, settingsOf}
import io.github.dynamickafka.testkit.TimeLimit

class RegistryClientSuite extends AnyFunSuite with TimeLimit with RegistryTest {

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
      val found = client.about(server.settings()).schema(id).get
      assert(found.kind == "AVRO" && found.text.contains("a.Outer"))
      assert(found.references.map(_.name) == Seq("a.Inner", "a.Middle"))
      val json = server.register("json", "{}", "JSON")
      assert(client.about(server.settings()).schema(json).map(_.kind).contains("JSON"))
    }
  }

  test("the newest version of a subject, whose name may contain any character") {
    serving { server =>
      server.register("a/b c-value", "\"int\"")
      val id = server.register("a/b c-value", "\"long\"")
      assert(
        client.about(server.settings()).latest("a/b c-value")
          .contains(LatestSchema(id, 2, RegisteredSchema("AVRO", "\"long\"")))
      )
      assert(client.about(server.settings()).latest("other").isEmpty)
    }
  }

  test("an unknown id is no failure, unless something else than a registry says so") {
    serving { server =>
      assert(client.about(server.settings()).schema(7).isEmpty)
      assert(server.requests.size == 1)
      assertUnavailable(
        failure(client.about(settingsOf(server.url + "/wrong")).schema(7)),
        "status 404",
        "schema id 7",
        "cluster 'blue'",
        server.url
      )
      server.behave = _ => Some(Answer(404, "<html>no such page</html>"))
      assertUnavailable(failure(client.about(server.settings()).schema(7)), "status 404")
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
          assert(client.about(server.settings()).schema(id).isDefined, bad)
          assert(count.get == 4, bad)
      }
      server.behave = _ => Some(Answer(503, """{"error_code": 50301}"""))
      assertUnavailable(
        failure(client.about(server.settings("timeoutMs" -> "30s")).schema(id)),
        "status 503",
        "schema id 1"
      )
      server.stop()
      assertUnavailable(
        failure(client.about(server.settings("timeoutMs" -> "2s")).schema(id)),
        "ConnectException"
      )
      server.start()
      server.behave = _ => None
      assert(client.about(server.settings()).schema(id).isDefined)
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
        val e =
          failure(new RegistryClient(Clock.System).about(server.settings("timeoutMs" -> "300")).schema(1))
        // The limit of an attempt is the time that is left.
        assert("no complete response within (2[5-9]\\d|300) ms".r.findFirstIn(e.getMessage).isDefined, e)
        assertUnavailable(e, "no complete response within")
      } finally end.countDown()
    }
  }

  test("several addresses of one registry: the next one after a failure") {
    serving { server =>
      val id = server.register("s", "\"int\"")
      val dead = serving(_.url)
      assert(client.about(settingsOf(s"$dead, ${server.url}/")).schema(id).isDefined)
      val e = failure(client.about(settingsOf(s"$dead,$dead/x", "timeoutMs" -> "1s")).schema(id))
      assertUnavailable(e, s"$dead,$dead/x")
    }
  }

  test("refused credentials are not asked again, and a redirect does not receive them") {
    serving { server =>
      Seq(401, 403).foreach { status =>
        server.behave = _ => Some(Answer(status, """{"error_code": 40301}"""))
        val before = server.requests.size
        val e = failure(client.about(server.settings("basicAuth.userInfo" -> "u:secret-password")).schema(5))
        assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_AUTHENTICATION_FAILED")
        Seq("schema id 5", s"status $status", "cluster 'blue'", server.url).foreach(part =>
          assert(e.getMessage.contains(part), part)
        )
        assert(!e.getMessage.contains("secret-password"))
        assert(server.requests.size == before + 1)
      }
      serving { other =>
        server.behave = _ => Some(Answer(302, "", Map("Location" -> s"${other.url}/schemas/ids/1")))
        assertUnavailable(
          failure(client.about(server.settings("bearerAuth.token" -> "t")).schema(1)),
          "status 302"
        )
        assert(other.requests.isEmpty)
      }
    }
  }

  test("what is written begins with the id at the registry of its cluster, in the subject of its topic") {
    serving { blue =>
      serving { green =>
        green.register("other", "\"int\"")
        val url = RegistryOptionSpecs.Url.key
        val registries = Registries(Map(url -> blue.url), Map("green.registry.url" -> green.url))
        val schema = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
        def framing(of: Registries, ofKeys: Boolean, known: (Frame.TopicSide, Int)*) =
          new Framing(Frame(of, schema, ofKeys), known.toMap, new SchemaCache(client))
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
        val known = framing(named, ofKeys = false, Frame.TopicSide("blue", "t", ofKeys = false) -> 7)
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
      val registered = client.about(server.settings()).latest("s").map(_.schema)
      assert(registered.exists(_.references.map(_.name) == Seq("x")))
      val own = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
      Seq(true, false).foreach(auto =>
        assert(new SchemaCache(client).id(server.settings(), "s", own, auto, registered) == id)
      )
      assert(!server.requests.exists(_.method == "POST"))
      server.register("s", "\"double\"")
      val e =
        failure(new SchemaCache(client).id(server.settings(), "s", registered.get, true, registered))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND" && e.getMessage.contains("refers to others"))
    }
  }

  test("a schema is registered once, or looked up") {
    serving { server =>
      val registrar = new SchemaCache(client)
      val schema = RegisteredSchema(RegisteredSchema.Json, """{"type": "object"}""")
      val e = failure(registrar.id(server.settings(), "t-value", schema, autoRegister = false))
      assert(e.getCondition == "DYNAMIC_KAFKA.SCHEMA_NOT_FOUND")
      assert(e.getMessage.contains("t-value") && e.getMessage.contains("registry.autoRegister"))
      assert(!server.requests.exists(_.path.endsWith("/versions")))
      val id = registrar.id(server.settings(), "t-value", schema, autoRegister = true)
      assert(client.about(server.settings()).schema(id).contains(schema))
      val before = server.requests.size
      assert(registrar.id(server.settings(), "t-value", schema, autoRegister = true) == id)
      assert(server.requests.size == before)
      assert(new SchemaCache(client).id(server.settings(), "t-value", schema, autoRegister = false) == id)

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
