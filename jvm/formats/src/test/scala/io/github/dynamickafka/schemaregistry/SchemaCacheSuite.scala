package io.github.dynamickafka.schemaregistry

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, serving}
import io.github.dynamickafka.testkit.TimeLimit

class SchemaCacheSuite extends AnyFunSuite with TimeLimit {

  test("many tasks ask for an id once, and a dead registry does not matter to those that are known") {
    serving { server =>
      val id = server.register("s", "\"int\"")
      val cache = SchemaCache(new ManualClock)
      val all = new CountDownLatch(8)
      // The answer comes when all threads have asked.
      server.behave = { _ =>
        all.await()
        Thread.sleep(50)
        None
      }
      val pool = Executors.newFixedThreadPool(8)
      try {
        val task: Callable[Option[RegisteredSchema]] = { () =>
          all.countDown()
          cache.schema(server.settings(), id)
        }
        val found = pool.invokeAll(Seq.fill(8)(task).asJava).asScala.map(_.get)
        assert(found.forall(_.contains(RegisteredSchema("AVRO", "\"int\""))))
      } finally pool.shutdownNow()
      assert(server.paths == Seq(s"/schemas/ids/$id"))
      server.stop()
      assert(cache.schema(server.settings(), id).isDefined)
      val e =
        intercept[DynamicKafkaRuntimeException](cache.schema(server.settings("timeoutMs" -> "50"), id + 1))
      assert(e.getCondition == "DYNAMIC_KAFKA.REGISTRY_UNAVAILABLE")
    }
  }

  test("an id that a registry does not know is asked for again after a while; a failure is not remembered") {
    serving { server =>
      val clock = new ManualClock
      val cache = SchemaCache(clock)
      assert(cache.schema(server.settings(), 1).isEmpty)
      server.register("s", "\"int\"")
      assert(cache.schema(server.settings(), 1).isEmpty)
      assert(server.requests.size == 1)
      clock.advanceMs(10001)
      assert(cache.schema(server.settings(), 1).isDefined)

      server.behave = _ => Some(Answer(401))
      (1 to 2).foreach(_ => intercept[DynamicKafkaRuntimeException](cache.schema(server.settings(), 2)))
      server.behave = _ => None
      server.register("s", "\"long\"")
      assert(cache.schema(server.settings(), 2).isDefined)
    }
  }

  test("the same id of two registries is not the same schema") {
    serving { one =>
      serving { two =>
        val cache = SchemaCache(new ManualClock)
        assert(one.register("s", "\"int\"") == two.register("s", "\"long\""))
        assert(cache.schema(one.settings(), 1).map(_.text).contains("\"int\""))
        assert(cache.schema(two.settings(), 1).map(_.text).contains("\"long\""))
      }
    }
  }

  test(
    "one address is a registry for each log-in: ids, schemas and subjects, in any order (seed in the message)"
  ) {
    val logIns: Seq[Seq[(String, String)]] = Seq(
      Nil,
      Seq("basicAuth.userInfo" -> "a:x"),
      Seq("basicAuth.userInfo" -> "b:x"),
      Seq("bearerAuth.token" -> "a"),
      Seq("bearerAuth.token" -> "b")
    )
    val first = TestSeed()
    (first until first + 20).foreach { seed =>
      val random = new Random(seed)
      serving { one =>
        serving { two =>
          // A registry with tenants numbers the schemas of each one.
          val servers = Seq(one, two)
          for ((server, at) <- servers.zipWithIndex) server.behave = { request =>
            val tenant = s"$at ${request.headers.getOrElse("authorization", "")}".hashCode.abs
            Some(
              if (request.path.startsWith("/schemas/ids/"))
                Answer(200, s"""{"schema": "{\\"type\\":\\"${request.path.last}t$tenant\\"}"}""")
              else Answer(200, s"""{"id": ${request.path.hashCode.abs % 1000 + tenant % 100000}}""")
            )
          }
          val (clock, shared) = (new ManualClock, new ManualClock)
          val (cache, registrar) = (SchemaCache(clock), new SchemaCache(new RegistryClient(shared)))
          (1 to 30).foreach { _ =>
            val logIn = logIns(random.nextInt(logIns.size))
            val settings = servers(random.nextInt(2)).settings(logIn: _*)
            val where = s"seed $seed, $logIn"
            // What a process that has asked nothing else gets.
            if (random.nextBoolean()) {
              val id = 1 + random.nextInt(2)
              assert(cache.schema(settings, id) == SchemaCache(clock).schema(settings, id), where)
            } else {
              val subject = s"s${random.nextInt(2)}"
              def id(of: SchemaCache) =
                of.id(settings, subject, RegisteredSchema("AVRO", "\"int\""), autoRegister = true)
              assert(id(registrar) == id(new SchemaCache(new RegistryClient(shared))), where)
            }
            assert(!settings.identity.toString.contains(":x"))
          }
        }
      }
    }
  }

  test("a thread that is interrupted does not fail the ones that wait for the same schema") {
    val once = new Once[String, String]
    val (began, calls) = (new CountDownLatch(1), new AtomicInteger)
    val first = new Thread(() =>
      try {
        val _ = once.get("k") { () =>
          calls.incrementAndGet()
          began.countDown()
          Thread.sleep(600000)
          None
        }
      } catch { case _: InterruptedException => () }
    )
    first.start()
    began.await()
    @volatile var found = Option.empty[String]
    val second = new Thread(() => found = once.get("k")(() => Some(s"call ${calls.incrementAndGet()}")))
    second.start()
    while (second.getState != Thread.State.WAITING) Thread.sleep(5)
    first.interrupt()
    second.join()
    assert(found.contains("call 2"))
  }

  test("an Error of the thread that asks ends the wait of those that need the same schema") {
    val once = new Once[String, String]
    val (began, end) = (new CountDownLatch(1), new CountDownLatch(1))
    val pool = Executors.newFixedThreadPool(3)
    def failing: Callable[Throwable] = () =>
      intercept[Throwable] {
        val _ = once.get("k") { () =>
          began.countDown()
          end.await()
          throw new StackOverflowError("deep")
        }
      }
    try {
      val first = pool.submit(failing)
      began.await()
      val waiting = Seq.fill(2)(pool.submit(failing))
      end.countDown()
      (first +: waiting).foreach(f => assert(f.get.isInstanceOf[StackOverflowError]))
    } finally pool.shutdownNow()
    assert(once.get("k")(() => Some("later")).contains("later"))
  }
}
