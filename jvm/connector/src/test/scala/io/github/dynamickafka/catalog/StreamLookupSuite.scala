package io.github.dynamickafka.catalog

import java.util.concurrent.CountDownLatch
import java.{util => ju}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.testkit.TimeLimit

/** Calls of the metadata service for statements. */
class StreamLookupSuite extends AnyFunSuite with TimeLimit {

  private class Service(answer: () => ju.Map[String, KafkaStream]) extends KafkaMetadataService {
    var calls = 0
    private def called = {
      calls += 1
      answer()
    }
    override def getAllStreams(): ju.Set[KafkaStream] = new ju.HashSet(called.values)
    override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] = called
    override def isClusterActive(clusterId: String): Boolean = true
    override def close(): Unit = ()
  }

  private def stream(id: String) = new KafkaStream(id, ju.Map.of())
  private def unavailable(text: String)(body: => Any): Unit = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(
      e.getCondition == "DYNAMIC_KAFKA.METADATA_UNAVAILABLE" && e.getMessage.contains(text),
      e.getMessage
    )
    ()
  }

  test("one call for each question; streams are sorted, and a missing one is not an error") {
    val service = new Service(() => ju.Map.of("b", stream("b"), "a", stream("a")))
    val lookup = new StreamLookup(service, "test", 5000L)
    assert(lookup.all().map(_.streamId) == Seq("a", "b") && service.calls == 1)
    assert(lookup.stream("a").contains(stream("a")) && lookup.stream("x").isEmpty && service.calls == 3)
  }

  test("a suggestion costs a call only if all streams have never been listed") {
    val service = new Service(() => ju.Map.of("b", stream("b"), "a", stream("a")))
    val lookup = new StreamLookup(service, "test", 5000L)
    assert(lookup.knownIds() == Seq("a", "b") && lookup.knownIds() == Seq("a", "b") && service.calls == 1)
  }

  test("a failure is never an answer") {
    val lookup = new StreamLookup(new Service(() => throw new IllegalStateException("down")), "test", 5000L)
    unavailable("down")(lookup.stream("a"))
    unavailable("down")(lookup.all())
  }

  test("a call that takes too long is given up, and no other one is made before it returns") {
    val returns = new CountDownLatch(1)
    @volatile var hangs = true
    val service = new Service(() => {
      // Does not end when it is interrupted, as some drivers.
      while (hangs)
        try if (returns.await(1, java.util.concurrent.TimeUnit.SECONDS)) hangs = false
        catch { case _: InterruptedException => () }
      ju.Map.of("a", stream("a"))
    })
    val lookup = new StreamLookup(service, "test", 200L)
    unavailable("no response within 200 ms")(lookup.stream("a"))
    unavailable("an earlier call has not returned")(lookup.stream("a"))
    assert(service.calls == 1)
    returns.countDown()
    while (lookup.isBusy) Thread.onSpinWait()
    assert(lookup.stream("a").isDefined && service.calls == 2)
  }

  test("a call whose wait is interrupted is not joined by another one") {
    val (called, returns) = (new CountDownLatch(1), new CountDownLatch(1))
    val service = new Service(() => {
      called.countDown()
      returns.await()
      ju.Map.of("a", stream("a"))
    })
    val lookup = new StreamLookup(service, "test", 60000L)
    val statement = new Thread(() => { val _ = intercept[InterruptedException](lookup.stream("a")) })
    statement.start()
    called.await()
    statement.interrupt()
    statement.join()
    unavailable("an earlier call has not returned")(lookup.stream("a"))
    assert(service.calls == 1)
    returns.countDown()
  }
}
