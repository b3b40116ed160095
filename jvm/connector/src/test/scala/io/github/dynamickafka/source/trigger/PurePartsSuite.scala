package io.github.dynamickafka.source.trigger

import java.nio.file.Files
import java.util.concurrent.CompletableFuture

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.streaming.{ReadLimit, ReadMaxRows}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.{CompositeOffset, Loss, Positions, Retained, Span, TopicEnds}
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.source.checkpoint.{InitialOffset, SourceCheckpoint}
import io.github.dynamickafka.source.cluster.{ClusterStreams, CommitCounts, Outage}
import io.github.dynamickafka.source.plan.SparkPlanner
import io.github.dynamickafka.source.report.{OffsetChangeText, SourceMetrics}
import io.github.dynamickafka.source.spark.{ClusterPartition, ClusterReader}
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.topology.{
  OffsetsPolicy,
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic
}

/** Decisions of the source that need no broker. */
class PurePartsSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private def span(cluster: String, lag: Long) = Span(cluster, "t", 0, 10L, 10L + lag, enters = false)
  private def cluster(id: String, properties: Map[String, String], topics: (String, TopologyTopic)*) =
    id -> TopologyCluster(id, SortedMap.from(topics), properties)

  test("an unreachable cluster is retried with growing pauses, and never waited for") {
    val first = Outage.begin(Outage.Request.Offsets, now = 1000L, new RuntimeException("gone"))
    var asked = 0
    var answer = new CompletableFuture[String]
    val ask = () => { asked += 1; answer }
    assert(first.look(1100L, ask) == Left(first) && asked == 0, "not before the pause is over")
    val probing = first.look(first.nextAt, ask).left.toOption.get
    assert(asked == 1)
    assert(probing.look(first.nextAt + 60000L, ask) == Left(probing), "one request at a time")
    answer.completeExceptionally(new RuntimeException("still gone"))
    val later = probing.look(first.nextAt + 1L, ask).left.toOption.get
    assert(later.cause.getMessage == "still gone" && later.since == 1000L)
    assert(later.nextAt - (first.nextAt + 1L) > first.nextAt - first.since, "the pause grows")
    answer = CompletableFuture.completedFuture("id")
    val again = later.look(later.nextAt, ask).left.toOption.get
    assert(again.look(later.nextAt, ask) == Right(()))
  }

  test("answers that are superseded are ignored, even if one of them has arrived") {
    val (moved, other) = (new CompletableFuture[String], new CompletableFuture[String])
    // The answer arrives after it was superseded, and before the rest is cancelled.
    def superseded(pending: Set[String]): Boolean = {
      assert(pending == Set("moved", "other"))
      moved.complete("too late")
    }
    assert(!ClusterStreams.await(Map("moved" -> moved, "other" -> other), superseded))
    assert(other.isCancelled)
    val failed = CompletableFuture.failedFuture[String](new RuntimeException("refused"))
    assert(ClusterStreams.await(
      Map("moved" -> moved, "failed" -> failed),
      _ => fail("no answer is waited for")
    ))
  }

  test("limits: the budget of all clusters together, and that of each cluster") {
    val limits = new Limits(id => if (id == "slow") Some(5L) else None)
    val spans = IndexedSeq(span("fast", 1000), span("slow", 1000))
    assert(limits.grant(spans, ReadLimit.maxRows(Long.MaxValue), 0L, wait = true) == IndexedSeq(1000L, 5L))
    assert(
      limits.grant(spans, ReadLimit.allAvailable(), 0L, wait = true) == IndexedSeq(1000L, 1000L),
      "Trigger.Once"
    )
    assert(limits.grant(spans, ReadLimit.maxRows(100), 0L, wait = true).sum == 100L)
    assert(limits.grant(spans, ReadLimit.maxRows(100), 0L, wait = true)(1) <= 5L)
    val both = ReadLimit.compositeLimit(Array(ReadLimit.minRows(1, 10), ReadLimit.maxRows(7)))
    assert(limits.grant(spans, both, 0L, wait = true).sum == 7L)
  }

  test("limits: with any limits, each partition with records is served within a bounded number of batches") {
    val clusters =
      Gen.choose(1, 4).flatMap(Gen.listOfN(_, Gen.zip(Gen.choose(1, 20), Gen.option(Gen.choose(1L, 25L)))))
    forAll(clusters, Gen.choose(1L, 50L), Gen.choose(0L, Long.MaxValue)) { (clusters, budget, seed) =>
      val random = new Random(seed)
      val limits = new Limits(id => clusters(id.toInt)._2)
      val partitions = clusters.indices.flatMap(c => (0 until clusters(c)._1).map(p => (c.toString, p)))
      var waiting = Map.empty[(String, Int), Int].withDefaultValue(0)
      (0 until 3 * partitions.size).foreach { _ =>
        val spans = partitions.map { case (c, p) =>
          // Partition 0 always has records, the others come and go.
          Span(
            c,
            "t",
            p,
            10L,
            if (p == 0 || random.nextBoolean()) 10L + random.nextInt(9) + 1L else 10L,
            false
          )
        }
        val granted = limits.grant(spans, ReadLimit.maxRows(budget), 0L, wait = false)
        assert(granted.sum > 0)
        spans.indices.foreach { i =>
          waiting += partitions(i) -> (if (granted(i) > 0 || spans(i).lag == 0) 0
                                       else waiting(partitions(i)) + 1)
          assert(waiting(partitions(i)) < partitions.size, s"${partitions(i)} waits")
        }
      }
    }
  }

  test("limits: two levels of limits of half of the partitions serve all of them in turn") {
    val limits = new Limits(_ => Some(50L))
    val spans = for (c <- Vector("a", "b"); p <- 0 until 100) yield Span(c, "t", p, 0L, 1000L, enters = false)
    val granted = (0 until 4).map(_ => limits.grant(spans, ReadLimit.maxRows(50), 0L, wait = false))
    assert(granted.forall(_.sum == 50L))
    assert(granted.transpose.forall(_.sum == 1L), "200 partitions in four batches of 50")
  }

  test("limits: a batch is delayed until there are enough records, up to the maximum delay") {
    val limits = new Limits(_ => None)
    val limit = Limits.limit(Some(10L), maxDelayMs = 1000L, Some(20L))
    def grant(lag: Long, now: Long, wait: Boolean = true) =
      limits.grant(IndexedSeq(span("a", lag), span("b", lag)), limit, now, wait).sum
    assert(grant(2, now = 0L) == 4L, "the first batch does not wait")
    assert(grant(2, now = 999L) == 0L)
    assert(grant(2, now = 999L, wait = false) == 4L, "AvailableNow")
    assert(grant(2, now = 1000L) == 0L)
    assert(grant(5, now = 1001L) == 10L)
    assert(grant(2, now = 2000L) == 0L)
    assert(grant(2, now = 2001L) == 4L, "maximum delay")
    assert(grant(50, now = 2002L) == 20L)
    assert(Limits.limit(None, 1000L, None).isInstanceOf[ReadMaxRows], "Trigger.Once has a limit of its own")
  }

  test("a topic that was read may be missing for a moment; lost records are decided at once") {
    val gone = Loss.TopicGone("blue", "orders")
    val policy = new LossPolicy(failOnDataLoss = true, graceMs = 5000L)
    assert(policy.judge(Seq(gone), now = 0L, waitForTopics = true))
    assert(!policy.judge(Nil, now = 4000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 6000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 10999L, waitForTopics = true))
    val late =
      intercept[DynamicKafkaRuntimeException](policy.judge(Seq(gone), now = 11000L, waitForTopics = true))
    assert(
      late.getMessageParameters.get("cluster") == "blue" && late.getMessageParameters.get("topic") == "orders"
    )
    intercept[DynamicKafkaRuntimeException](
      new LossPolicy(true, 5000L).judge(Seq(gone), now = 0L, waitForTopics = false)
    )
    val expired = Loss.Expired("blue", "orders", 3, known = 7L, earliest = 9L)
    val e =
      intercept[DynamicKafkaRuntimeException](policy.judge(Seq(expired), now = 0L, waitForTopics = true))
    assert(
      Seq("blue", "orders", "partition 3", "offset to read is 7", "9").forall(e.getMessage.contains),
      e.getMessage
    )
    assert(!new LossPolicy(
      failOnDataLoss = false,
      0L
    ).judge(Seq(gone, expired), now = 0L, waitForTopics = false))
  }

  test("the checkpoint stores how to reach the clusters that offsets name, and no secret") {
    val secrets = Map(
      "bootstrap.servers" -> "b:1",
      "sasl.jaas.config" -> "pw",
      "ssl.key.password" -> ("$" + "{file:/x:y}"),
      "my.own" -> "not known to Kafka"
    )
    val first = Topology(
      SortedMap(
        cluster(
          "blue",
          secrets,
          "orders" -> TopologyTopic("s", startingOffsets = Some(OffsetsPolicy.Timestamp(5L)))
        ),
        cluster("red", Map("bootstrap.servers" -> "r:1"), "old" -> TopologyTopic("s", draining = true))
      )
    )
    val second = Topology(
      SortedMap(cluster("green", Map("bootstrap.servers" -> "g:1"), "orders" -> TopologyTopic("s"))),
      SortedMap("blue" -> Removal.OfCluster, "green" -> Removal(SortedSet("old"), Set("x.*")))
    )
    val end = CompositeOffset(
      clusters = SortedMap("blue" -> positions(("orders", 0, 1L))),
      retained = SortedMap("red" -> Retained.at(1L, positions(("old", 0, 2L))))
    )
    val folder = Files.createTempDirectory("memory").toUri.toString
    val memory = new SourceCheckpoint(folder, new Configuration)
    memory.remember(first, end)
    memory.remember(second, end)
    val again = new SourceCheckpoint(folder, new Configuration)
    assert(again.topology.exists(_.current == second))
    assert(again.cluster("blue").map(_.properties).contains(secrets -- Seq("sasl.jaas.config", "my.own")))
    assert(again.cluster("blue").map(_.withheld).contains(Set("sasl.jaas.config")))
    assert(
      again.cluster("blue").flatMap(_.topics.get("orders")) == first.clusters("blue").topics.get("orders")
    )
    assert(again.cluster("red").map(_.bootstrapServers).contains("r:1"))
    assert(again.streamOf("red", "old") == "s")
    again.remember(second, CompositeOffset.empty)
    assert(
      new SourceCheckpoint(folder, new Configuration).cluster("blue").isEmpty,
      "no offset names it now"
    )
    assert(new SourceCheckpoint(folder, new Configuration).cluster("green").isDefined)
  }

  test("the initial offset is written once and read back") {
    val folder = Files.createTempDirectory("memory").toUri.toString
    val initial = InitialOffset(
      CompositeOffset(SortedMap("blue" -> positions(("t", 0, 4L)))),
      unresolved = Set("green"),
      unresolvedTopics = Map("blue" -> Set("u", "v"))
    )
    assert(initial.isUnresolved("blue", "u") && !initial.isUnresolved("blue", "t"))
    assert(!initial.isUnresolved("green", "u"))
    val memory = new SourceCheckpoint(folder, new Configuration)
    assert(memory.initial.isEmpty)
    memory.writeInitial(initial)
    assert(new SourceCheckpoint(folder, new Configuration).initial.contains(initial))
  }

  test(
    "a damaged file is named; without the newest topology the one before is used, and the next one is written"
  ) {
    val folder = Files.createTempDirectory("memory")
    def open() = new SourceCheckpoint(folder.toUri.toString, new Configuration)
    def file(name: String) = folder.resolve("dynamic-kafka").resolve(name)
    def damage(name: String, text: String): Unit = {
      Files.writeString(file(name), text)
      val _ = Files.deleteIfExists(file(name).resolveSibling(s".${file(name).getFileName}.crc"))
    }
    def of(id: String) =
      Topology(SortedMap(cluster(id, Map("bootstrap.servers" -> s"$id:1"), "t" -> TopologyTopic("s"))))
    val memory = open()
    memory.remember(of("blue"), CompositeOffset.empty)
    memory.remember(of("green"), CompositeOffset.empty)
    memory.writeInitial(InitialOffset(CompositeOffset.empty, Set.empty))
    for (
      text <- Seq(
        "{\"version\":1,\"cur",
        "",
        "[1]",
        "{\"version\":1,\"current\":{\"blue\":{\"topics\":{\"t\":{\"startingOffsets\":\"x\"}}}}}"
      )
    ) {
      damage("topology/1.json", text)
      val e = intercept[DynamicKafkaRuntimeException](open().newestTopology)
      assert(e.getMessage.contains(file("topology/1.json").toString), e.getMessage)
      assert(open().cluster("blue").isDefined && open().cluster("green").isEmpty)
    }
    open().remember(of("blue"), CompositeOffset.empty)
    assert(open().newestTopology.exists(_.current == of("blue")) && Files.exists(file("topology/2.json")))
    damage("topology/2.json", "{\"version\":9}")
    assert(
      intercept[DynamicKafkaRuntimeException](open().topology).getCondition.endsWith("UNKNOWN_OFFSET_VERSION")
    )
    for (text <- Seq("{", "{\"version\":1}", "{\"version\":1,\"offset\":{\"version\":1,\"x\":1}}")) {
      damage("initial.json", text)
      val e = intercept[DynamicKafkaRuntimeException](open().initial)
      assert(e.getMessage.contains(file("initial.json").toString), e.getMessage)
    }
  }

  test("losses are logged once for each partition and kind, and again after a while") {
    val policy = new LossPolicy(failOnDataLoss = false, graceMs = 0L)
    def logged(now: Long, losses: Loss*) =
      Logs.during(classOf[LossPolicy])(policy.judge(losses, now, waitForTopics = false)).size
    def expired(partition: Int, known: Long) = Loss.Expired("blue", "orders", partition, known, known + 5)
    assert(logged(0L, expired(0, 7L), expired(1, 7L), Loss.TopicGone("blue", "other")) == 3)
    assert((1 to 50).map(i => logged(i * 1000L, expired(0, 7L + i))).sum == 0)
    assert(logged(51000L, Loss.Truncated("blue", "orders", 0, 8L)) == 1)
    assert(logged(60000L, expired(0, 99L)) == 1)
  }

  test("a missing topic is waited for, other losses are not") {
    val policy = new LossPolicy(failOnDataLoss = false, graceMs = 5000L)
    val gone = Loss.PartitionGone("blue", "orders", 1, 7L)
    val expired = Loss.Expired("blue", "orders", 0, 7L, 9L)
    assert(policy.judge(Seq(gone, expired), now = 0L, waitForTopics = true))
    assert(!policy.judge(Seq(expired), now = 1000L, waitForTopics = true))
    assert(policy.judge(Seq(gone), now = 4000L, waitForTopics = true))
    assert(!policy.judge(Seq(gone), now = 9000L, waitForTopics = true))
  }

  test("a folder of Spark's own Kafka source is refused") {
    val folder = Files.createTempDirectory("memory")
    Files.writeString(folder.resolve("0"), "v1\n{}")
    val e = intercept[DynamicKafkaRuntimeException](
      new SourceCheckpoint(folder.toUri.toString, new Configuration).refusePlainKafka()
    )
    assert(e.getCondition == "DYNAMIC_KAFKA.PLAIN_KAFKA_CHECKPOINT")
  }

  test("metrics never throw, and always have every key") {
    val consumed = CompositeOffset(
      clusters =
        SortedMap("blue" -> positions(("t", 0, 5L), ("t", 1, 5L)), "gone" -> positions(("t", 0, 9L))),
      draining = SortedMap("gone" -> positions(("t", 0, 9L)))
    )
    val ends = SortedMap("blue" -> positions(("t", 0, 7L), ("u", 0, 3L)))
    val metrics = SourceMetrics(
      consumed,
      ends,
      Set("blue", "new"),
      Set("new"),
      12L,
      3,
      CommitCounts(5L, 2L),
      4L,
      6L,
      Map("blue" -> 7L)
    )
    assert(metrics.get("snapshotAgeMs.blue") == "7" && metrics.get("snapshotAgeMs.new") == "-1")
    assert(metrics.get("pendingRecords") == "2" && metrics.get("pendingRecords.blue") == "2")
    assert(metrics.get("pendingRecords.new") == "0" && !metrics.containsKey("pendingRecords.gone"))
    assert(metrics.get("maxOffsetsBehindLatest") == "2" && metrics.get("minOffsetsBehindLatest") == "0")
    assert(metrics.get("deferredRecords") == "4" && metrics.get("lostRecords") == "6")
    assert(metrics.get("drainingClusters") == "1" && metrics.get("unreachableClusters") == "1")
    val nothing =
      SourceMetrics(
        CompositeOffset.empty,
        SortedMap.empty,
        Set.empty,
        Set.empty,
        0L,
        0,
        CommitCounts.none,
        0L,
        0L
      )
    assert(nothing.get("avgOffsetsBehindLatest") == "0.0" && nothing.get("kafkaClustersCount") == "0")
  }

  test("the task metrics of Spark's own reader are forwarded") {
    final case class Count(name: String, value: Long) extends CustomTaskMetric
    val counts = Array[CustomTaskMetric](Count("dataLoss", 3L), Count("offsetOutOfRange", 2L))
    val inner = new PartitionReader[InternalRow] {
      override def next(): Boolean = false
      override def get(): InternalRow = throw new NoSuchElementException
      override def close(): Unit = ()
      override def currentMetricsValues(): Array[CustomTaskMetric] = counts
    }
    val reader: PartitionReaderFactory = _ => throw new UnsupportedOperationException
    val partition = ClusterPartition("a", "h:1", "s", Set("t"), new InputPartition {}, reader, Nil)
    assert(new ClusterReader(partition, inner).currentMetricsValues.toSeq == counts.toSeq)
  }

  test("the same partition of many clusters is spread over executors") {
    val places = IndexedSeq("executor_a", "executor_b", "executor_c")
    val inner = new InputPartition {}
    val reader: PartitionReaderFactory = _ => throw new UnsupportedOperationException
    def at(id: String, place: String) = ClusterPartition(id, "h:1", "s", Set("t"), inner, reader, Seq(place))
    def located(ids: Seq[String]) =
      SparkPlanner.rotate(places.flatMap(place => ids.map(at(_, place)))).collect {
        case p: ClusterPartition =>
          (p.cluster, p.locations)
      }.groupMap(_._1)(_._2.head)
    val ids = (0 until 30).map(i => s"c$i")
    val found = located(ids)
    assert(
      found.values.forall(_.toSet == places.toSet),
      "each partition of a cluster is on an executor of its own"
    )
    val first = found.values.groupBy(_.head).values.map(_.size)
    assert(first.size == 3 && first.forall(_ >= 5), first)
    assert(located("a" +: ids).removed("a") == found, "a new cluster moves no other one")
    assert(SparkPlanner.rotate(Seq(at("a", "one"), at("b", "one"))).flatMap(_.preferredLocations) == Seq(
      "one",
      "one"
    ))
  }

  test("the checkpoint stores patterns, matched topics, partitions and timestamps") {
    val times = OffsetsPolicy.TimestampByPartition(Map("*" -> Map("orders" -> Map(0 -> 5L))))
    val matched = TopologyTopic("s", matched = true, startingOffsets = Some(times))
    val topology = Topology(SortedMap("blue" -> TopologyCluster(
      "blue",
      SortedMap("orders" -> matched, "some" -> TopologyTopic("s", partitions = Some(SortedSet(0, 3)))),
      Map("bootstrap.servers" -> "b:1"),
      Seq(TopologyPattern("or.*", matched))
    )))
    val folder = Files.createTempDirectory("memory").toUri.toString
    new SourceCheckpoint(folder, new Configuration).remember(topology, CompositeOffset.empty)
    assert(new SourceCheckpoint(folder, new Configuration).topology.map(_.current).contains(topology))
  }

  test("a change of the topology is one line: what enters, leaves and drains, with offsets") {
    val start =
      CompositeOffset(SortedMap("blue" -> positions(("t", 0, 4L)), "red" -> positions(("t", 0, 1L))))
    val end = CompositeOffset(
      clusters = SortedMap("green" -> positions(("t", 0, 3L)), "red" -> positions(("t", 0, 1L))),
      entered = SortedMap("green" -> positions(("t", 0, 2L))),
      retained = SortedMap("blue" -> Retained.at(1L, positions(("t", 0, 4L)))),
      draining = SortedMap("red" -> positions(("t", 0, 8L))),
      ends = SortedMap("green" -> SortedMap("t" -> TopicEnds("latest", SortedMap(0 -> 9L))))
    )
    assert(
      OffsetChangeText.describe(start, end).contains(
        """Topology change: cluster 'green' enters at {"t":{"0":2}}; cluster 'blue' leaves at {"t":{"0":4}}; cluster 'red' drains up to {"t":{"0":8}}; cluster 'green' stops at {"t":{"0":9}}"""
      )
    )
    assert(OffsetChangeText.describe(start, start).isEmpty)
  }
}
