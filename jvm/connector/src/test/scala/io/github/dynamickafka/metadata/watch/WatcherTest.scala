package io.github.dynamickafka.metadata.watch

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.{ScriptedService, Topology}
import io.github.dynamickafka.testkit.TimeLimit

/** A watcher of a scripted service. */
trait WatcherTest extends AnyFunSuite with TimeLimit with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  protected val Soon = 20L
  protected val Never = 3600 * 1000L
  protected val one = stream("orders", "blue" -> cluster("a"))
  protected val two = stream("orders", "blue" -> cluster("a"), "green" -> cluster("a"))

  protected def watching[A](
      service: ScriptedService,
      intervalMs: Long = Soon,
      threshold: Int = 3,
      callTimeoutMs: Long = Never,
      subscription: Subscription = Subscription.Ids(Seq("orders")),
      timing: WatcherTiming = WatcherTiming(retryCapMs = 1, spacingWithoutPollingMs = 1, confirmMs = 1),
      confirmations: Int = 2
  )(body: MetadataWatcher => A): A = {
    val discovery = DiscoveryOptions(
      intervalMs,
      threshold,
      callTimeoutMs,
      allowMissingStreams = false,
      removalConfirmations = confirmations
    )
    val watcher = MetadataWatcher(service, subscription, discovery, "scripted", timing)
    val result =
      try body(watcher)
      finally watcher.close()
    assert(service.mostAtOnce.get <= 1, "two calls ran concurrently")
    result
  }

  protected def ids(topology: Topology) = topology.clusters.keys.toSeq
  protected def current(watcher: MetadataWatcher) = watcher.current.topology.toSeq.flatMap(ids)

  protected def unavailable(body: => Any) = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_UNAVAILABLE")
    e
  }
}
