package io.github.dynamickafka.source.subscription

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.source.{Entry, EntryService, Queries, Query, Results}
import io.github.dynamickafka.testkit.TestAll

/** A metadata service that fails, hangs, or returns incomplete or invalid answers. */
class MetadataFailureSuite extends Queries {

  /** Runs the body with a query over blue and green. */
  private def running(options: (String, String)*)(
      body: (Query, String, org.apache.spark.sql.streaming.StreamingQuery) => Any
  ): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    s.orders(both(topic): _*)
    val query = s.start(options: _*)
    settle(query)
    produce(blue, topic, 2, values("before", 4))
    settle(query)
    body(s, topic, query)
    ()
  }

  private def both(topic: String) = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
  private def threshold(n: Int) = "streamMetadataDiscoveryFailureThreshold" -> n.toString
  private def down(): Unit = throw new IllegalStateException("the service is down")

  test(
    "failures are tolerated up to the threshold, one more fails the query with its cause; success resets"
  ) {
    running(threshold(5)) { (s, topic, query) =>
      val failures = new AtomicInteger
      // Five failures, a success, five failures, a success, ...: never six in a row.
      s.service.behave = () => if (failures.incrementAndGet() % 6 != 0) down()
      waitFor("twenty calls")(failures.get > 20)
      produce(green, topic, 2, values("meanwhile", 4))
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.metrics(query)("metadataFailures").toInt <= 5)
      s.service.behave = () => ()
      s.service.awaitAnswers()
      val before = s.service.callCount
      s.service.behave = () => down()
      val e = failure(query)
      assert(condition(e) == "METADATA_UNAVAILABLE")
      // At the sixth failure; the query's thread may not notice before the seventh.
      assert(e.getMessageParameters.get("failures").toInt >= 6 && s.service.callCount - before >= 6)
      assert(text(e).contains("the service is down"), text(e))
    }
  }

  test("a first start needs an answer: retried up to the threshold, then the cause is reported") {
    scene { s =>
      s.service.behave = () => down()
      val e = refused(s.start(threshold(3)))
      assert(condition(e) == "METADATA_UNAVAILABLE" && text(e).contains("the service is down"))
      // The service is polled until the query has ended, which may be later on a busy machine.
      val failures = """consecutive failures: (\d+)""".r.findFirstMatchIn(text(e)).map(_.group(1).toInt)
      assert(failures.exists(n => n >= 4 && n <= s.service.callCount), text(e))
    }
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("a", 3))
      val calls = new AtomicInteger
      s.service.behave = () => if (calls.incrementAndGet() < 4) down()
      s.orders(Entry("blue", blue, topic))
      s.catchUp(threshold(3))
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  test("an empty answer, a missing stream, a stream without clusters: failures, never removals", TestAll) {
    running(threshold(1000)) { (s, topic, query) =>
      val wrong = Seq[Map[String, Seq[Entry]]](
        Map.empty,
        Map("other" -> both(topic)),
        Map("orders" -> Nil),
        Map("orders" -> Seq(both(topic).head, Entry("green", green, topic).copy(properties = Map.empty))),
        Map("orders" -> Seq(both(topic).head, Entry("gr een", green, topic))),
        Map("orders" -> Seq(both(topic).head, Entry("green", green))),
        Map("orders" -> Seq(both(topic).head, Entry("green", green, topic).copy(state = "gone"))),
        Map("orders" -> Seq(both(topic).head, Entry("green", green, topic).startingAt("somewhere")))
      )
      for (answer <- wrong) {
        s.service.streams = answer
        s.service.awaitAnswers()
        produce(green, topic, 2, values("g", 2))
        settle(query)
        assert(s.logged.retained.isEmpty && s.logged.clusters.keySet == Set("blue", "green"))
        assertSame(s.seen, storedOnBoth(topic))
        eventually(assert(s.metrics(query)("metadataFailures").toInt > 0))
      }
      s.change(both(topic): _*)
      produce(green, topic, 2, values("last", 2))
      settle(query)
      assert(s.metrics(query)("metadataFailures") == "0")
    }
  }

  test("one of two streams is missing: the other one's clusters are kept too, until allowMissingStreams") {
    for (allowed <- Seq(false, true)) scene { s =>
      val topic = newTopicOn(1, blue, green)
      s.service.streams =
        Map("orders" -> Seq(Entry("blue", blue, topic)), "audit" -> Seq(Entry("green", green, topic)))
      val query =
        s.start("streamIds" -> "orders;audit", "allowMissingStreams" -> allowed.toString, threshold(1000))
      settle(query)
      s.service.streams = s.service.streams - "audit"
      s.service.awaitAnswers()
      settle(query)
      assert(s.logged.retained.keySet == (if (allowed) Set("green") else Set.empty))
    }
  }

  test("allowMissingStreams: an empty answer empties the topology, and everything resumes exactly") {
    running("allowMissingStreams" -> "true", "maxRemovedClustersPerChange" -> "2") { (s, topic, query) =>
      s.service.streams = Map.empty
      s.service.awaitAnswers()
      settle(query)
      assert(s.logged.retained.keySet == Set("blue", "green") && s.logged.clusters.isEmpty)
      produce(blue, topic, 2, values("meanwhile", 4))
      settle(query)
      assert(s.seen.size == 4)
      s.change(both(topic): _*)
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test(
    "isClusterActive false: treated as removed, whatever describeStreams returns, until it is true again"
  ) {
    running() { (s, topic, query) =>
      s.service.inactive = Set("blue")
      s.service.awaitAnswers()
      settle(query)
      assert(s.logged.retained.keySet == Set("blue"))
      produce(blue, topic, 2, values("inactive", 4))
      settle(query)
      assert(s.seen.size == 4)
      s.service.inactive = Set.empty
      s.service.awaitAnswers()
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test(
    "an inactive cluster is retained at once and never contacted, with removedClusterPolicy=drain too",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(2, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      val query = s.start("removedClusterPolicy" -> "drain")
      produce(red, topic, 2, values("before", 4))
      settle(query)
      s.service.inactive = Set("red")
      s.service.awaitAnswers()
      settle(query)
      assert(s.logged.retained.keySet == Set("red") && s.logged.draining.isEmpty)
      killed(red) {
        produce(blue, topic, 2, values("inactive", 4))
        settle(query)
        assertSame(s.seen.filter(_.cluster == "blue"), stored("blue", blue, topic))
      }
      produce(red, topic, 2, values("active", 4))
      s.service.inactive = Set.empty
      s.service.awaitAnswers()
      settle(query)
      assertSame(s.seen, stored("blue", blue, topic) ++ stored("red", red, topic))
    }
  }

  test(
    "most clusters drop out of the answers, also at a restart: nothing is retired, nothing is lost",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, green, red)
      val all = Seq(Entry("blue", blue, topic), Entry("green", green, topic), Entry("red", red, topic))
      def produceAll(value: String) = Seq(blue, green, red).foreach(produce(_, topic, 1, values(value, 2)))
      s.orders(all: _*)
      val query = s.start(threshold(100000))
      settle(query)
      s.change(all.head)
      produceAll("few")
      settle(query)
      assert(s.logged.retained.isEmpty && s.seen.size == 6)
      query.stop()
      val again = s.start(threshold(100000))
      produceAll("restarted")
      settle(again)
      assert(s.logged.retained.isEmpty && s.seen.size == 12)
      again.stop()
      val error = text(failure(s.start(threshold(3))))
      Seq("METADATA_UNAVAILABLE", "green, red", "maxRemovedClustersPerChange").foreach(says =>
        assert(error.contains(says), error)
      )
      s.orders(all.head +: all.tail.map(_.copy(state = "removed")): _*)
      val last = s.start()
      settle(last)
      assert(s.logged.retained.keySet == Set("green", "red"))
    }
  }

  /** Longer than a test: a query that waits for the call does not make progress within it. */
  private val noLimit = "clusterRequestTimeoutMs" -> "600000"

  /** Makes a call hang while the body runs. */
  private def hanging(service: EntryService)(body: => Any): Unit = {
    val hung = service.hangs()
    try {
      waitFor("the service hangs")(service.isHanging)
      val calls = service.callCount
      body
      assert(service.isHanging && service.callCount == calls, "no other call started meanwhile")
      assert(service.mostAtOnce.get == 1)
    } finally {
      service.recovers()
      hung.countDown()
    }
    ()
  }

  test("a hanging service blocks neither the query's thread nor stop()") {
    running(noLimit, threshold(100000)) { (s, topic, query) =>
      hanging(s.service) {
        (0 until 3).foreach { i =>
          produce(green, topic, 2, values(s"g$i-", 2))
          settle(query)
        }
        assertSame(s.seen, storedOnBoth(topic))
        stopWithin(60.seconds)(query)
      }
    }
  }

  test("a hanging call is abandoned at its limit; no second one starts before it ends") {
    running("clusterRequestTimeoutMs" -> "5000", threshold(100000)) { (s, topic, query) =>
      def failures(): Int = {
        // Progress, which contains the failures, is only reported with records.
        produce(green, topic, 2, values("tick", 2))
        settle(query)
        s.metrics(query)("metadataFailures").toInt
      }
      hanging(s.service)(eventually(assert(failures() >= 3)))
      eventually(assert(failures() == 0))
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.service.mostAtOnce.get == 1)
    }
  }

  test("the service is down at a restart: the checkpoint's topology is used, until the threshold") {
    running() { (s, topic, query) =>
      query.stop()
      produce(blue, topic, 2, values("stopped", 4))
      // Half of the failures that fail the query occur after it has read, however long that takes.
      val read = new CountDownLatch(1)
      val failures = new AtomicInteger
      s.service.behave = () => {
        if (failures.incrementAndGet() > 20) read.await()
        down()
      }
      val again = s.start(threshold(40))
      eventually(assert(s.seen.size == 8))
      settle(again)
      assertSame(s.seen, storedOnBoth(topic))
      read.countDown()
      assert(condition(failure(again)) == "METADATA_UNAVAILABLE")
      // Once the service answers, the query resumes.
      s.service.behave = () => ()
      produce(green, topic, 2, values("up", 4))
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("the service hangs at a restart: the checkpoint's topology is used after one call's limit", TestAll) {
    running() { (s, topic, query) =>
      query.stop()
      produce(blue, topic, 2, values("stopped", 4))
      val before = s.service.callCount
      val from = System.nanoTime()
      val hung = s.service.hangs()
      try {
        val again = s.start("clusterRequestTimeoutMs" -> "5000", threshold(100000))
        eventually(assert(s.seen.size == 8))
        assert(System.nanoTime() - from >= 5000000000L, "an answer within the limit would have been used")
        assert(s.service.isHanging && s.service.callCount == before + 1, "the query did not wait longer")
        assert(again.isActive)
        stopWithin(60.seconds)(again)
      } finally hung.countDown()
    }
  }

  test("interval -1: polled at the start only") {
    running("streamMetadataDiscoveryIntervalMs" -> "-1") { (s, topic, query) =>
      val asked = s.service.callCount
      assert(asked == 1)
      s.orders(Entry("blue", blue, topic))
      (0 until 5).foreach { i =>
        produce(green, topic, 2, values(s"g$i-", 2))
        settle(query)
      }
      assert(s.service.callCount == asked)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("a stopped query closes its watcher, but not a service that others may use") {
    def watchers = Thread.getAllStackTraces.keySet.asScala.toSet
      .filter((thread: Thread) => thread.getName.startsWith("dynamic-kafka-metadata-"))
    val others = watchers
    running() { (s, _, query) =>
      val mine = watchers -- others
      // The polling thread and the thread of the call.
      assert(mine.size == 2 && s.service.threads.asScala.toSet.subsetOf(mine), mine)
      query.stop()
      eventually(assert(!mine.exists(_.isAlive)))
      assert(s.service.closed.getCount == 1, "an instance is closed by its creator")
    }
  }

  test("a service given by its class name, with its arguments") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, values("a", 3))
    val results = new Results(newFolder().resolve("checkpoint"))
    val frame = spark.readStream.format("dynamic-kafka")
      .option("metadataService", classOf[ServiceByName].getName)
      .option("metadataService.servers", blue.bootstrapServers)
      .option("metadataService.Topic", topic)
      .option("streamIds", "orders")
      .load()
    assert(results.start(frame, Trigger.AvailableNow()).awaitTermination(300000))
    assertSame(results.seen, stored("blue", blue, topic))
  }
}

/** An option names this class; argument keys are passed as the user wrote them. */
final class ServiceByName(arguments: ju.Map[String, String]) extends KafkaMetadataService {
  private val stream = {
    val entry = Entry.at("blue", arguments.get("servers"), arguments.get("Topic"))
    new KafkaStream("orders", ju.Map.of("blue", entry.metadata))
  }
  override def getAllStreams(): ju.Set[KafkaStream] = ju.Set.of(stream)
  override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] =
    if (ids.contains("orders")) ju.Map.of("orders", stream) else ju.Map.of()
  override def isClusterActive(id: String): Boolean = true
  override def close(): Unit = ()
}
