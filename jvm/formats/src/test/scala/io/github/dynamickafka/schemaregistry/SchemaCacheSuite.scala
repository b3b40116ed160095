package io.github.dynamickafka.schemaregistry

import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{Callable, CountDownLatch, Executors}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

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

  test("one address with two log-ins is two registries: ids, schemas and subjects are those of the log-in") {
    val logins = Seq(
      Seq("basicAuth.userInfo" -> "a:x") -> Seq("basicAuth.userInfo" -> "b:x"),
      Seq("bearerAuth.token" -> "a") -> Seq("bearerAuth.token" -> "b"),
      Seq("basicAuth.userInfo" -> "a:x") -> Nil
    )
    logins.foreach { case (first, second) =>
      serving { server =>
        val cache = SchemaCache(new ManualClock)
        val registrar = new SchemaRegistrar(new RegistryClient(new ManualClock))
        // A registry with tenants numbers the schemas of each one.
        val ofTenant = new java.util.concurrent.ConcurrentHashMap[Option[String], Integer]
        server.behave = { request =>
          val login = request.headers.get("authorization")
          val tenant = ofTenant.computeIfAbsent(login, _ => ofTenant.size)
          if (request.path == "/schemas/ids/1")
            Some(Answer(200, s"""{"schema": "{\\"type\\":\\"t$tenant\\"}"}"""))
          else Some(Answer(200, s"""{"id": ${10 + tenant}}"""))
        }
        val all = Seq(first, second, first).map(login => server.settings(login: _*))
        val texts = all.map(cache.schema(_, 1).map(_.text))
        assert(texts(0) != texts(1) && texts(0) == texts(2), s"$first, $second")
        val ids = all.map(registrar.id(_, "s", RegisteredSchema("AVRO", "\"int\""), autoRegister = true))
        assert(ids(0) != ids(1) && ids(0) == ids(2), s"$first, $second")
        assert(all.map(_.identity).distinct.size == 2 && !all.head.identity.toString.contains("a"))
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
