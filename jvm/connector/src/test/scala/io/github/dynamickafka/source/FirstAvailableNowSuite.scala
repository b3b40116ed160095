package io.github.dynamickafka.source

import java.nio.file.Files
import java.util.concurrent.CompletableFuture

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.config.{DiscoveryOptions, Options, Subscription}
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterStream, ClusterStreams, ScriptedCluster}
import io.github.dynamickafka.source.plan.BatchPlanner
import io.github.dynamickafka.source.report.QueryReporter
import io.github.dynamickafka.source.spark.SparkKafkaSource
import io.github.dynamickafka.source.trigger.TopologyFeed
import io.github.dynamickafka.time.Clock

/** The first run of a query with `Trigger.AvailableNow`, whose start needs the offsets of all clusters already. */
class FirstAvailableNowSuite extends SourceTest {

  private final class Run extends AutoCloseable {
    val kafka: ScriptedCluster = ScriptedCluster.led(1)
    val service = new EntryService
    service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t")))
    private val source = SparkKafkaSource.find()
    // All cluster ids lead to the one scripted cluster.
    private val options = Options.parse("allowDuplicateClusters" -> "true")
    val watcher = MetadataWatcher(
      service,
      Subscription.Ids(Seq("orders")),
      DiscoveryOptions(20L, 100000, 600000L, allowMissingStreams = false),
      "test"
    )
    private val feed = new TopologyFeed(watcher, () => None)
    private val streams = new ClusterStreams(
      (id, config) => new ClusterStream(id, config, Clock.System, _ => kafka.connect()),
      skipUnreachable = false,
      failureTimeoutMs = -1,
      Clock.System
    )
    private val path = Files.createTempDirectory("first").toUri.toString
    private val stream = new DynamicMicroBatchStream(
      options,
      feed,
      streams,
      new SourceCheckpoint(path, new Configuration),
      BatchPlanner(options, source),
      new QueryReporter(commits = false, path, streams, feed, Clock.System),
      Clock.System
    )

    def begin(): CompositeOffset = {
      stream.prepareForTriggerAvailableNow()
      stream.initialOffset().asInstanceOf[CompositeOffset]
    }
    def next(start: CompositeOffset): CompositeOffset =
      stream.latestOffset(start, ReadLimit.allAvailable()).asInstanceOf[CompositeOffset]

    override def close(): Unit = stream.stop()
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
