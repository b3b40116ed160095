package io.github.dynamickafka.source

import java.util.concurrent.CompletableFuture

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.cluster.ScriptedCluster

/** The first run of a query with `Trigger.AvailableNow`, whose start needs the offsets of all clusters already. */
class FirstAvailableNowSuite extends Queries {

  private final class Run(options: (String, String)*) extends AutoCloseable {
    private val scripted = new ScriptedRun(options: _*)
    val kafka: ScriptedCluster = scripted.kafka
    val service: EntryService = scripted.service
    val watcher: MetadataWatcher = scripted.watcher

    def begin(): CompositeOffset = {
      scripted.stream.prepareForTriggerAvailableNow()
      scripted.begin()
    }
    def next(start: CompositeOffset): CompositeOffset = scripted.nextWithoutLimit(start)
    def limited(start: CompositeOffset): CompositeOffset = scripted.next(start)

    /** The metadata have another address of the cluster. */
    def moves(): Unit = scripted.moves()

    override def close(): Unit = scripted.close()
  }

  private def run(body: Run => Any): Unit = run()(body)

  private def run(options: (String, String)*)(body: Run => Any): Unit = {
    spark.version
    val r = new Run(options: _*)
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
      r.moves()
      assert(r.next(start).position("blue").get("t", 0).contains(15L))
    }
  }

  private val limit = "maxOffsetsPerTrigger" -> "4"

  private def failedOver(r: Run): CompositeOffset = {
    val first = r.limited(r.begin())
    assert(first.position("blue").get("t", 0).contains(4L))
    r.kafka.id = () => CompletableFuture.completedFuture("other")
    r.kafka.ends = Map(("t", 0) -> 6L)
    r.moves()
    first
  }

  test("a failover during the run: the ends of the former cluster do not apply to the new one") {
    run(limit, "replacedClusterPolicy" -> "earliest") { r =>
      val second = r.limited(failedOver(r))
      assert(second.entered("blue").get("t", 0).contains(0L), "by the policy")
      assert(second.position("blue").get("t", 0).contains(4L))
      assert(second.identity("blue").kafkaId.contains("other"))
      r.kafka.ends = Map(("t", 0) -> 9L)
      val third = r.limited(second)
      assert(third.position("blue").get("t", 0).contains(6L), "up to its end at the failover")
      assert(r.limited(third).sameAs(third), "the run has ended")
    }
    run(limit) { r =>
      val first = failedOver(r)
      val e = intercept[DynamicKafkaRuntimeException](r.limited(first))
      assert(e.getCondition.endsWith("CLUSTER_REPLACED"))
    }
  }

  test("a cluster that only moves keeps the end of the run") {
    run(limit) { r =>
      val first = r.limited(r.begin())
      r.kafka.ends = Map(("t", 0) -> 15L)
      r.moves()
      val last = r.next(first)
      assert(last.position("blue").get("t", 0).contains(10L))
      assert(r.next(last).sameAs(last))
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
