package io.github.dynamickafka.source.trigger

import java.util.concurrent.Semaphore

import scala.collection.immutable.SortedMap

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.source.{Entry, EntryService}
import io.github.dynamickafka.testkit.TimeLimit

class TopologyFeedSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private def feed[A](
      service: EntryService,
      threshold: Int = 100000,
      remembered: => Option[Topology] = None,
      incomplete: Topology => Set[String] = _ => Set.empty
  )(body: TopologyFeed => A): A = {
    val discovery = DiscoveryOptions(20L, threshold, 600000L, allowMissingStreams = false)
    val watcher = MetadataWatcher(service, Subscription.Ids(Seq("orders")), discovery, "test")
    val feed = new TopologyFeed(watcher, () => remembered, incomplete)
    try body(feed)
    finally feed.close()
  }

  private def service(entries: Entry*): EntryService = {
    val made = new EntryService
    made.streams = Map("orders" -> entries)
    made
  }

  private def down(service: EntryService): Unit =
    service.behave = () => throw new IllegalStateException("the service is down")

  private val stored = Topology(SortedMap("blue" -> TopologyCluster(
    "blue",
    SortedMap("t" -> TopologyTopic("orders")),
    Map("bootstrap.servers" -> "b:1"),
    withheld = Set("sasl.jaas.config")
  )))

  test("whether a missing topic has to be read depends on the topology of the trigger, not on a later one") {
    val s = service(Entry.at("blue", "b:1", "t", "u"))
    feed(s) { feed =>
      val _ = (feed.first(), feed.current())
      val asked = feed.ask().get
      val permits = new Semaphore(0)
      s.behave = () => permits.acquire()
      eventually(assert(permits.hasQueuedThreads, "no other call is open"))
      s.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "u")))
      permits.release()
      eventually(assert(feed.current().unconfirmed.get("blue").exists(_("t"))))
      permits.release(1000)
      eventually(assert(!feed.newest.exists(_.clusters("blue").topics.contains("t"))))
      assert(!feed.reads("blue", "t", asked))
      assert(!feed.current().clusters("blue").topics.contains("t"))
    }
  }

  test("a pinned topology keeps its clusters and topics, and follows their addresses and properties") {
    val s = service(Entry.at("blue", "b:1", "t"), Entry.at("green", "g:1", "t"))
    feed(s) { feed =>
      val first = feed.first()
      val _ = feed.pin()
      assert(feed.current() == first)
      s.streams = Map(
        "orders" -> Seq(
          Entry.at("blue", "b:2", "t", "u").and("client.id", "x").draining,
          Entry.at("red", "r:1", "t")
        )
      )
      eventually(assert(feed.current().clusters("blue").bootstrapServers == "b:2"))
      val now = feed.current()
      assert(now.clusters("blue").properties("client.id") == "x")
      assert(now.clusters("blue").topics == first.clusters("blue").topics)
      assert(now.clusters.keySet == Set("blue", "green") && now.clusters("green") == first.clusters("green"))
      assert(feed.current() eq now, "the same answer is the same object")
      assert(feed.newest.exists(_ eq now))
      down(s)
      assert(feed.current() eq now)
    }
  }

  test("a restart without the service waits for it if the checkpoint lacks credentials") {
    val s = service(Entry.at("blue", "b:1", "t").and("sasl.jaas.config", "secret"))
    val calls = new java.util.concurrent.atomic.AtomicInteger
    s.behave = () => if (calls.incrementAndGet() < 5) throw new IllegalStateException("the service is down")
    feed(s, remembered = Some(stored), incomplete = _.clusters.keySet.toSet) { feed =>
      assert(feed.current().clusters("blue").properties("sasl.jaas.config") == "secret")
      assert(calls.get >= 5)
    }
  }

  test("... up to the threshold, and does not wait if it can use the checkpoint") {
    val s = service()
    down(s)
    feed(s, threshold = 3, remembered = Some(stored), incomplete = _.clusters.keySet.toSet) { feed =>
      val e = intercept[DynamicKafkaRuntimeException](feed.current())
      assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_UNAVAILABLE")
    }
    feed(s, remembered = Some(stored))(feed => assert(feed.current() == stored))
  }

  test("a damaged topology in the checkpoint is an error only if it is required") {
    def damaged = throw Errors.invalidOffset("the file topology/3.json is damaged")
    val s = service(Entry.at("blue", "b:1", "t"))
    feed(s, remembered = damaged)(feed => assert(feed.current().clusters.keySet == Set("blue")))
    down(s)
    feed(s, remembered = damaged) { feed =>
      val e = intercept[DynamicKafkaRuntimeException](feed.current())
      assert(e.getMessage.contains("topology/3.json"))
    }
  }
}
