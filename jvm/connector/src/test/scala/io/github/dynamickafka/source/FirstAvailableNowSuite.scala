package io.github.dynamickafka.source

import java.util.concurrent.CompletableFuture

import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.ScriptedCluster

/** The first run of a query with `Trigger.AvailableNow`, whose start needs the offsets of all clusters already. */
class FirstAvailableNowSuite extends SourceTest {

  private final class Run extends AutoCloseable {
    private val scripted = new ScriptedRun
    val kafka: ScriptedCluster = scripted.kafka
    val service: EntryService = scripted.service
    val watcher: MetadataWatcher = scripted.watcher

    def begin(): CompositeOffset = {
      scripted.stream.prepareForTriggerAvailableNow()
      scripted.begin()
    }
    def next(start: CompositeOffset): CompositeOffset = scripted.nextWithoutLimit(start)

    override def close(): Unit = scripted.close()
  }

  private def run(body: Run => Any): Unit = {
    spark.version
    val r = new Run
    try { val _ = body(r) }
    finally r.close()
  }

  test("clusters are asked once: the offsets that determined the start are those of the run's end") {
    run { r =>
      val start = r.begin()
      assert(start.position("blue").get("t", 0).contains(0L))
      val asked = r.kafka.listings.get
      r.kafka.ends = Map(("t", 0) -> 15L)
      val end = r.next(start)
      assert(end.position("blue").get("t", 0).contains(10L) && r.kafka.listings.get == asked)
      assert(r.next(end).sameAs(end), "the run has ended")
    }
  }

  test("clusters are asked again if the metadata have changed meanwhile") {
    run { r =>
      val start = r.begin()
      r.kafka.ends = Map(("t", 0) -> 15L)
      r.service.streams = Map("orders" -> Seq(Entry.at("blue", "b:2", "t")))
      eventually(assert(r.watcher.current.topology.exists(
        _.clusters("blue").properties("bootstrap.servers") == "b:2"
      )))
      assert(r.next(start).position("blue").get("t", 0).contains(15L))
    }
  }

  test("clusters are asked again if the metadata change while the first ones are asked") {
    run { r =>
      r.kafka.delayMs = 3000L
      val start = CompletableFuture.supplyAsync(() => r.begin())
      eventually(assert(r.kafka.descriptions.get > 0))
      r.service.streams =
        Map("orders" -> Seq(Entry.at("blue", "b:1", "t"), Entry.at("green", "g:1", "t")))
      eventually(assert(r.watcher.current.topology.exists(_.clusters.contains("green"))))
      assert(!start.isDone)
      val end = r.next(start.join())
      assert(end.clusters.keySet == Set("blue", "green"))
    }
  }
}
