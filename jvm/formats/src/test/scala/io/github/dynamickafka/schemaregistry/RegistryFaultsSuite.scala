package io.github.dynamickafka.schemaregistry

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, Request, serving}
import io.github.dynamickafka.testkit.TimeLimit

/**
 * Schemas that refer to each other, of a registry that follows a script: what a process keeps is the schema of the registry, or
 * nothing; each schema is requested once; and one time limit applies to all of them.
 */
class RegistryFaultsSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  import RegistryFaultsSuite._

  /** Pauses take no time. */
  private final class Paused extends Clock {
    private val ms = new AtomicLong
    override def nanoTime(): Long = ms.get * 1000000L
    override def currentTimeMillis(): Long = ms.get
    override def pauseMs(pause: Long): Unit = {
      val _ = ms.addAndGet(pause)
    }
  }

  private def unavailable(body: => Any): String = {
    val e = intercept[DynamicKafkaRuntimeException] {
      val _ = body
    }
    assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE", e.getMessage)
    e.getMessage
  }

  /** Which later schemas each schema refers to; the first one is requested. */
  private val graphs: Gen[Vector[Set[Int]]] = for {
    n <- Gen.choose(1, 8)
    of <- Gen.sequence[Vector[Set[Int]], Set[Int]]((0 until n).map { i =>
      val later = (i + 1) until n
      Gen.someOf(later).map(_.toSet)
    })
  } yield of

  private def reachable(graph: Vector[Set[Int]], from: Int): Set[Int] =
    graph(from).flatMap(reachable(graph, _)) + from

  /** @return the id of the first schema */
  private def register(server: RegistryServer, graph: Vector[Set[Int]]): Int =
    graph.indices.reverse.map { i =>
      val references = graph(i).map(j => s"""{"name": "n$j", "subject": "s$j", "version": 1}""")
      server.register(s"s$i", text(i), references = references.mkString("[", ",", "]"))
    }.last

  private def text(i: Int) = s"""{"type": "fixed", "name": "n$i", "size": 1}"""

  private def assertWhole(found: RegisteredSchema, graph: Vector[Set[Int]]): Unit = {
    assert(found.text == text(0))
    assert(found.references.map(_.name).toSet == (reachable(graph, 0) - 0).map(j => s"n$j"))
    assert(found.references.distinctBy(_.name) == found.references)
    val place = found.references.map(_.name).zipWithIndex.toMap
    for (i <- reachable(graph, 0) - 0; j <- graph(i))
      assert(place(s"n$j") < place(s"n$i"), "a schema comes after those that it refers to")
    assert(found.references.forall(r => r.text == text(r.name.drop(1).toInt)))
  }

  test("each schema is requested once, however many refer to it") {
    serving { server =>
      forAll(graphs) { graph =>
        server.clear()
        val id = register(server, graph)
        assertWhole(new RegistryClient(new Paused).about(server.settings()).schema(id).get, graph)
        assert(server.requests.size == reachable(graph, 0).size)
      }
    }
  }

  test("15 schemas, two on each of seven levels, are 15 requests") {
    serving { server =>
      val levels = Vector(Set(1, 2)) ++ (1 to 14).map { i =>
        val next = if (i % 2 == 1) i + 2 else i + 1
        if (next > 14) Set.empty[Int] else Set(next, next + 1)
      }
      val id = register(server, levels)
      assertWhole(new RegistryClient(new Paused).about(server.settings()).schema(id).get, levels)
      assert(server.requests.size == 15)
    }
  }

  test("a schema that refers to itself through others") {
    serving { server =>
      server.register("a", "\"a\"", references = """[{"name": "b", "subject": "b", "version": 1}]""")
      val id =
        server.register("b", "\"b\"", references = """[{"name": "a", "subject": "a", "version": 1}]""")
      val found = new RegistryClient(new Paused).about(server.settings()).schema(id).get
      assert(found.references.map(_.name).toSet == Set("a", "b") && server.requests.size == 3)
    }
  }

  test("one time limit for a schema and those that it refers to") {
    serving { server =>
      val chain = (0 to 8).map(i => if (i < 8) Set(i + 1) else Set.empty[Int]).toVector
      val id = register(server, chain)
      val clock = new Paused
      server.behave = { _ =>
        clock.pauseMs(1500)
        None
      }
      val message =
        unavailable(new RegistryClient(clock).about(server.settings("timeoutMs" -> "8s")).schema(id))
      assert(message.contains("8000 ms"), message)
      assert(clock.currentTimeMillis() <= 8000 + 1500, "one request may have started before the end")
      assert(new RegistryClient(clock).about(server.settings("timeoutMs" -> "14s")).schema(id).isDefined)
    }
  }

  test("one time limit for the newest schema of a subject and the registration") {
    serving { server =>
      val clock = new Paused
      server.register("t", "\"int\"")
      server.behave = { _ =>
        clock.pauseMs(1500)
        None
      }
      val long = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
      val int = RegisteredSchema(RegisteredSchema.Avro, "\"string\"")
      def registrar = new SchemaCache(new RegistryClient(clock))
      val settings = server.settings("timeoutMs" -> "1s")
      unavailable(registrar.id(settings, "t", long, autoRegister = true, Some(int)))
      assert(!server.requests.exists(_.method == "POST"))
    }
  }

  test("what a process keeps is the registry's schema, whatever the registry answered before") {
    serving { server =>
      forAll(graphs, Gen.listOf(Gen.choose(0, 9)), Gen.listOf(faults)) { (graph, healthy, script) =>
        server.clear()
        val id = register(server, graph)
        val cache = SchemaCache(new Paused)
        val (asked, left) = (new AtomicInteger, script.iterator)
        // Some requests fail, in the order of the script; after it, the registry has recovered.
        server.behave = { request =>
          if (healthy.contains(asked.getAndIncrement() % 10)) None
          else left.nextOption().flatMap(_.answer(request))
        }
        val settings = server.settings("timeoutMs" -> "2s")
        try assertWhole(cache.schema(settings, id).get, graph)
        catch {
          case e: DynamicKafkaRuntimeException =>
            assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE", e.getMessage)
        }
        server.behave = _ => None
        assertWhole(cache.schema(settings, id).get, graph)
      }
    }
  }

  test("an answer that is no schema, no newest version or no id is repeated, then REGISTRY_UNAVAILABLE") {
    serving { server =>
      val id = server.register("s", "\"int\"")
      val schema = RegisteredSchema(RegisteredSchema.Avro, "\"long\"")
      def registrar = new SchemaCache(new RegistryClient(new Paused))
      val settings = server.settings()
      val calls: Seq[() => Any] = Seq(
        () => new RegistryClient(new Paused).about(settings).schema(id).get.text == "\"int\"",
        () => new RegistryClient(new Paused).about(settings).latest("s").get.id == id,
        () => registrar.id(settings, "s", schema, autoRegister = true),
        () => registrar.id(settings, "s", schema, autoRegister = false)
      )
      for (call <- calls; body <- noAnswers) {
        server.behave = _ => Some(Answer(200, body))
        assert(unavailable(call()).contains("is not that of a schema registry"), body)
        val count = new AtomicInteger
        server.behave = _ => Option.when(count.incrementAndGet() <= 2)(Answer(200, body))
        assert(call() != false)
        assert(count.get >= 3, "the first two answers were not used")
      }
    }
  }

  test("a schema that refers to one that the registry does not have is incomplete, and not kept") {
    serving { server =>
      val reference = """[{"name": "n", "subject": "later", "version": 1}]"""
      val id = server.register("s", """{"type": "array", "items": "n"}""", references = reference)
      val cache = SchemaCache(new Paused)
      val message = unavailable(cache.schema(server.settings(), id))
      assert(
        message.contains("version '1' of subject 'later'") && message.contains(s"schema id $id"),
        message
      )
      server.register("later", text(0))
      assert(cache.schema(server.settings(), id).get.references.map(_.name) == Seq("n"))
    }
  }

  test("a response that is longer than any schema is not read to its end, nor asked for again") {
    serving { server =>
      server.behave = _ => Some(Answer(200, s"""{"schema": "${"x" * (20 * 1024 * 1024)}"}"""))
      val message = unavailable(new RegistryClient(new Paused).about(server.settings()).schema(1))
      assert(message.contains("more than 16 MB") && server.requests.size == 1, message.take(500))
    }
  }
}

private object RegistryFaultsSuite {

  /** JSON with status 200 that a registry does not send. */
  val noAnswers: Seq[String] = Seq(
    """{"message": "maintenance"}""",
    "{}",
    """{"schema": null, "id": null}""",
    """{"schema": {}, "id": "1", "version": 1}""",
    """{"schema": " ", "id": 1.5, "version": 1}""",
    """{"error_code": 50001, "message": "later"}"""
  )

  sealed trait Fault {

    /** None: the request is answered. */
    def answer(request: Request): Option[Answer]
  }
  private final case class Always(status: Int, body: String) extends Fault {
    override def answer(request: Request): Option[Answer] = Some(Answer(status, body))
  }

  val faults: Gen[Fault] = Gen.oneOf(
    Gen.oneOf(noAnswers).map(Always(200, _)),
    Gen.const(Always(200, """{"schema": "\"x\"", "references": [{"name": "n1"}]}""")),
    Gen.const(Always(200, """{"schema": "\"x\"", "references": {"n1": 1}}""")),
    Gen.oneOf(Always(200, ""), Always(200, "<html>"), Always(503, ""), Always(429, "{}"), Always(500, "{}"))
  )
}
