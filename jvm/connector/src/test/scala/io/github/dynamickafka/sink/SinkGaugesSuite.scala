package io.github.dynamickafka.sink

import scala.jdk.CollectionConverters._

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.kafka.clients.producer.ProducerRecord
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.SharedSender
import io.github.dynamickafka.page.GaugeSet
import io.github.dynamickafka.sink.commit.{Ages, Prepared, TaskTransactions}
import io.github.dynamickafka.testkit.TimeLimit

/** The values of the gauges of a query that writes, from batch to batch. */
class SinkGaugesSuite extends AnyFunSuite with TimeLimit {

  private final class Query {
    val clock = new ManualClock
    clock.advanceMs(1000000L)
    private val registry = new MetricRegistry
    val gauges = new SinkGauges(new GaugeSet("q.sink", Some(registry)), () => 7L, () => 2L, clock)

    def values: Map[String, Long] = registry.getGauges.asScala.map { case (name, gauge) =>
      name.stripPrefix("q.sink.") -> gauge.asInstanceOf[Gauge[java.lang.Long]].getValue.longValue
    }.toMap

    def of(gauge: String): Seq[Long] =
      Seq("cluster.blue", "cluster.green", "total").flatMap(of => values.get(s"$of.$gauge"))

    def begin(open: OpenTransactions, clusters: String*): Unit =
      gauges.begin(clusters.toSet, Some(open), id => Some(if (id == "blue") 10000L else 40000L))
  }

  private def prepared(cluster: String, task: Int) =
    Prepared(cluster, s"$cluster-$task", 1L, 0, task, 10L, Seq("t"))

  /** What a task of a number has left open for some time. */
  private def task(number: Int, atMs: Long, openMs: (String, Long)*) = TaskTransactions(
    openMs.map { case (cluster, _) => prepared(cluster, number) },
    retried = false,
    number,
    Map.empty,
    Ages(openMs.toMap, atMs)
  )

  test("clusters that are left out count from batch to batch") {
    val q = new Query
    def begin(leftOut: Int) = {
      q.gauges.begin(Set("blue", "green"), None, _ => None, leftOut)
      q.values("total.leftOutClusters")
    }
    assert(Seq(0, 1, 0).map(begin) == Seq(0L, 1L, 0L))
  }

  test(
    "transactions are open when their task has finished, pending from the decision on, and then committed"
  ) {
    val q = new Query
    val open = new OpenTransactions
    q.begin(open, "blue", "green")
    assert(q.of("openTransactions") == Seq(0L, 0L, 0L))
    q.clock.advanceMs(5000L)
    val tasks = Seq(
      task(0, q.clock.currentTimeMillis(), "blue" -> 3000L, "green" -> 1000L),
      task(1, q.clock.currentTimeMillis(), "blue" -> 2000L)
    )
    tasks.foreach(t => open.add(OpenTransactions.of(t)))
    q.clock.advanceMs(1000L)
    assert(q.of("openTransactions") == Seq(2L, 1L, 3L))
    assert(q.of("transactionAgeMs") == Seq(4000L, 2000L))
    assert(q.of("transactionTimeoutMs") == Seq(10000L, 40000L))
    assert(q.of("transactionAgePercent") == Seq(40L))
    q.gauges.decided(tasks.flatMap(_.prepared))
    assert(q.of("openTransactions") == Seq(0L, 0L, 0L) && q.of("pendingTransactions") == Seq(2L, 1L, 3L))
    assert(q.of("transactionAgeMs") == Seq(4000L, 2000L))
    // Spark also calls it after the commit has failed: what is decided is pending until the query ends.
    q.gauges.aborted()
    assert(q.of("pendingTransactions") == Seq(2L, 1L, 3L))
    q.gauges.committed(
      Seq(Map("blue" -> Written(5L, 50L)), Map("blue" -> Written(1L, 2L), "green" -> Written(3L, 4L))),
      3
    )
    assert(q.of("pendingTransactions") == Seq(0L, 0L, 0L) && q.of("transactionAgeMs") == Seq(0L, 0L))
    assert(q.of("recordsWritten") == Seq(6L, 3L, 9L) && q.of("bytesWritten") == Seq(52L, 4L, 56L))
    assert(q.of("committedTransactions") == Seq(3L))
  }

  test("records and transactions add up over batches; those of an aborted batch do not count") {
    val q = new Query
    Seq(false, true, false).foreach { fails =>
      val open = new OpenTransactions
      q.begin(open, "blue")
      open.add(OpenTransactions.of(task(0, q.clock.currentTimeMillis(), "blue" -> 0L)))
      if (fails) q.gauges.aborted() else q.gauges.committed(Seq(Map("blue" -> Written(2L, 20L))), 1)
      assert(q.of("openTransactions") == Seq(0L, 0L))
    }
    assert(q.of("recordsWritten") == Seq(4L, 4L) && q.of("committedTransactions") == Seq(2L))
  }

  test(
    "a cluster has gauges while it is in the metadata, or transactions of an earlier run are pending there"
  ) {
    val q = new Query
    q.gauges.decided(Seq(prepared("gone", 0), prepared("gone", 1)))
    assert(q.values("cluster.gone.pendingTransactions") == 2L && q.values("total.pendingTransactions") == 2L)
    q.begin(new OpenTransactions, "blue", "eu-1")
    assert(q.values.keySet.filter(_.endsWith("recordsWritten")) ==
      Set("cluster.blue.recordsWritten", "cluster.eu_1.recordsWritten", "total.recordsWritten"))
    assert(q.values("total.kafkaClustersCount") == 2L && q.values("total.pendingTransactions") == 0L)
    assert(q.values("total.metadataAgeMs") == 7L && q.values("total.metadataFailures") == 2L)
    q.gauges.close()
    assert(q.values.isEmpty)
  }

  test("without exactly-once there are no transactions") {
    val q = new Query
    q.gauges.begin(Set("blue"), None, _ => None)
    q.gauges.committed(Seq(Map("blue" -> Written(2L, 20L))), 0)
    assert(q.of("recordsWritten") == Seq(2L, 2L) && q.of("transactionTimeoutMs") == Seq(0L))
    assert(q.of("openTransactions") == Seq(0L, 0L) && q.of("transactionAgePercent") == Seq(0L))
  }

  test("no transaction is older than its batch, or younger than now, whatever the clocks of executors say") {
    val q = new Query
    Seq(-100000L -> 500L, 100000L -> 0L).foreach { case (skewMs, expected) =>
      val open = new OpenTransactions
      q.begin(open, "blue")
      q.clock.advanceMs(500L)
      open.add(OpenTransactions.of(task(0, q.clock.currentTimeMillis() + skewMs, "blue" -> 100L)))
      assert(q.of("transactionAgeMs") == Seq(expected))
    }
  }

  test("Spark merges what its tasks have left open") {
    val open = new OpenTransactions
    val driver = new FromTasks(open.add)
    val (one, two) = (driver.copyAndReset(), driver.copyAndReset())
    assert(one.isZero)
    one.add(OpenTransactions.of(task(0, 10000L, "blue" -> 3000L)))
    two.add(OpenTransactions.of(task(1, 10000L, "blue" -> 4000L, "green" -> 1L)))
    Seq(one, two.copy(), driver.copy()).foreach(driver.merge)
    assert(open.of("blue").contains(OpenTransactions.OfCluster(2, 6000L)))
    assert(open.of("green").contains(OpenTransactions.OfCluster(1, 9999L)) && open.of("red").isEmpty)
    assert(!one.isZero && one.copyAndReset().isZero && driver.isZero)
  }

  test(
    "a task counts records and their bytes by cluster, and their topics, but not those that it withholds"
  ) {
    val counter = new WriteCounter
    def bytes(n: Int) = Array.fill(n)('x'.toByte)
    val full = new ProducerRecord("t", bytes(2), bytes(10))
    full.headers.add("abc", bytes(4)).add("d", null)
    counter.add("blue", full)
    counter.add("blue", new ProducerRecord("t", null, null))
    counter.add("blue", new ProducerRecord("other", null, null))
    counter.add("green", new ProducerRecord("t", null, bytes(1)))
    val written = Map("blue" -> Written(3L, 20L), "green" -> Written(1L, 1L))
    val topics = Map("blue" -> Set("t", "other"), "green" -> Set("t"))
    assert(counter.report(SharedSender.Done) == TaskReport(SharedSender.Done, written, topics))
    val message = task(0, 0L).copy(withheld = Map("green" -> 1L))
    assert(counter.report(message) == TaskReport(message, written - "green", topics - "green"))
  }
}
