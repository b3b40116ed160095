package io.github.dynamickafka.source

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{DiscoveryOptions, Options, Subscription}
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.CompositeOffset
import io.github.dynamickafka.page.QueryName
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterStream, ClusterStreams, ScriptedCluster}
import io.github.dynamickafka.source.read.{BatchPlanner, RecordTimes}
import io.github.dynamickafka.source.report.{QueryReporter, TimeLags}
import io.github.dynamickafka.source.trigger.{QueryState, TopologyFeed}

/**
 * The stream of a query, driven as Spark does it, on one scripted cluster: all cluster ids lead to it. Needs a session.
 *
 * @param options of the query, in addition to `allowDuplicateClusters`
 */
final class ScriptedRun(options: (String, String)*) extends AutoCloseable {
  val kafka: ScriptedCluster = ScriptedCluster.led(1)
  val service = new EntryService
  service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t")))

  /** Called on the thread of the query when a cluster is opened. */
  @volatile var onOpen: String => Unit = _ => ()

  val watcher = MetadataWatcher(
    service,
    Subscription.Ids(Seq("orders")),
    DiscoveryOptions(20L, 100000, 600000L, allowMissingStreams = false, removalConfirmations = 1),
    "test"
  )
  private val parsed = Options.parse(options :+ ("allowDuplicateClusters" -> "true"): _*)
  private val feed = new TopologyFeed(watcher, () => None)
  private val streams = new ClusterStreams(
    (id, config) => {
      onOpen(id)
      new ClusterStream(id, config, Clock.System, kafka.clients)
    },
    skipUnreachable = false,
    failureTimeoutMs = -1,
    Clock.System
  )
  private val path = Files.createTempDirectory("scripted").toUri.toString
  private val state =
    new QueryState(parsed, feed, streams, new SourceCheckpoint(path, new Configuration), Clock.System)
  val stream = new DynamicMicroBatchStream(
    state,
    new BatchPlanner(parsed),
    new QueryReporter(
      state,
      QueryName.of("main", "orders", "0"),
      TimeLags(new RecordTimes, streams, Clock.System)
    )
  )

  /** The metadata have another address of the cluster; returns when the query knows it. */
  def moves(): Unit = {
    service.streams = Map("orders" -> Seq(Entry.at("blue", "b:2", "t")))
    service.awaitAnswers()
  }

  def begin(): CompositeOffset = stream.initialOffset().asInstanceOf[CompositeOffset]

  def next(start: CompositeOffset): CompositeOffset =
    stream.latestOffset(start, stream.getDefaultReadLimit).asInstanceOf[CompositeOffset]

  def nextWithoutLimit(start: CompositeOffset): CompositeOffset =
    stream.latestOffset(start, ReadLimit.allAvailable()).asInstanceOf[CompositeOffset]

  override def close(): Unit = stream.stop()
}
