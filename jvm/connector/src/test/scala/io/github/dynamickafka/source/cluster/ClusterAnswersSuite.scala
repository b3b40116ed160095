package io.github.dynamickafka.source.cluster

import java.util.concurrent.{
  CompletableFuture,
  CountDownLatch,
  ExecutionException,
  ExecutorService,
  Executors,
  TimeUnit
}

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.kafka.ListedOffset
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

/** The offsets of one cluster, and what happens while parts of it do not respond. */
class ClusterAnswersSuite extends AnyFunSuite with TimeLimit with BeforeAndAfterAll with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private lazy val pool: ExecutorService = Executors.newCachedThreadPool()
  override def afterAll(): Unit = { val _ = pool.shutdownNow() }

  private def config(limitMs: Long, more: (String, String)*) = {
    val options = Options.parse(more :+ ("clusterRequestTimeoutMs" -> limitMs.toString): _*)
    ClusterConfigs(options, Set("blue"))("blue", Map("bootstrap.servers" -> "h:1"))
  }

  private def stream(kafka: ScriptedCluster, config: ClusterConfig, id: String = "blue"): ClusterStream =
    new ClusterStream(id, config, Clock.System, kafka.clients)

  private def ask(stream: ClusterStream, question: ClusterQuestion): ClusterView.Reachable =
    stream.ask(question, pool).get(60, TimeUnit.SECONDS)

  private def reads(at: (Int, Long)*) =
    ClusterQuestion(Set("t"), Positions.from(at.map { case (p, o) => ("t", p, o) }), Map.empty)
  private def enters(policy: OffsetsPolicy) = ClusterQuestion(Set("t"), Positions.empty, Map("t" -> policy))

  private def msSince(nanos: Long) = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - nanos)

  private val long = config(600000)
  private val committed = OffsetsPolicy.Committed(None)
  private val inGroup = "kafka.group.id" -> "g"

  test("times are those of the partitions whose leaders respond, and the request fails if none does") {
    val kafka = ScriptedCluster.led(1, 2)
    kafka.byTime = Map(("t", 0) -> 4L, ("t", 1) -> 5L)
    kafka.times = Map(("t", 0) -> 700L)
    kafka.silent = Set(2)
    val asked = Seq(0, 1).map(new TopicPartition("t", _) -> 600L).toMap
    val limited = stream(kafka, config(300))
    def times = limited.times(asked, pool).get(60, TimeUnit.SECONDS)
    assert(times == Map(new TopicPartition("t", 0) -> ListedOffset(4L, timestamp = Some(700L))))
    kafka.silent = Set(1, 2)
    val e = intercept[ExecutionException](times)
    assert(e.getCause.isInstanceOf[java.util.concurrent.TimeoutException])
  }

  test("a committed start that is beyond the latest offset of a moment ago is no lost record") {
    val kafka = ScriptedCluster.led(1)
    kafka.committed = Map(("t", 0) -> 16L)
    kafka.onResolve = () => kafka.ends = Map(("t", 0) -> 20L)
    val view = ask(stream(kafka, config(600000, inGroup)), enters(committed))
    assert(view.entering.get("t", 0).contains(16L) && view.ends.get("t", 0).contains(20L))
  }

  test("a start beyond the last stable offset waits there, and one beyond the end of the log does not") {
    val kafka = ScriptedCluster.led(1)
    kafka.stable = Map(("t", 0) -> 10L)
    kafka.ends = Map(("t", 0) -> 20L)
    kafka.committed = Map(("t", 0) -> 16L)
    val readCommitted = stream(kafka, config(600000, inGroup, "kafka.isolation.level" -> "read_committed"))
    assert(ask(readCommitted, enters(committed)).ends.get("t", 0).contains(16L))
    // The same for a position: a query that is restarted with read_committed.
    assert(ask(readCommitted, reads(0 -> 16L)).ends.get("t", 0).contains(16L))
    assert(ask(readCommitted, reads(0 -> 9L)).ends.get("t", 0).contains(10L))
    kafka.ends = Map(("t", 0) -> 12L)
    assert(ask(readCommitted, reads(0 -> 16L)).ends.get("t", 0).contains(10L), "the log was truncated")
  }

  test("the leader epoch is that of the response that the latest offset is from") {
    val kafka = ScriptedCluster.led(1, 1)
    assert(ask(stream(kafka, long), reads(0 -> 4L)).epochs.isEmpty, "the broker gives none")
    kafka.epochs = Map(("t", 0) -> 3L, ("t", 1) -> 5L)
    val group = config(600000, inGroup)
    kafka.committed = Map(("t", 0) -> 16L, ("t", 1) -> 4L)
    kafka.onResolve = () => {
      kafka.ends = kafka.ends.updated(("t", 0), 20L)
      kafka.epochs = Map(("t", 0) -> 4L, ("t", 1) -> 6L)
    }
    val view = ask(stream(kafka, group), enters(committed))
    assert(view.ends == Positions.from(Seq(("t", 0, 20L), ("t", 1, 10L))))
    assert(view.epochs == Positions.from(Seq(("t", 0, 4L), ("t", 1, 5L))))
  }

  test("the earliest offset of a topic that is gone is not kept: it is listed again when the topic returns") {
    val kafka = ScriptedCluster.led(1)
    kafka.leaders += ("u", 0) -> Some(1)
    kafka.ends += ("u", 0) -> 10L
    val blue = stream(kafka, long)
    def asked(when: ClusterQuestion.When): Int = {
      val before = kafka.earliestListings.get
      val known = Positions.from(Seq(("t", 0, 4L), ("u", 0, 4L)))
      ask(blue, ClusterQuestion(Set("t", "u"), known, Map.empty, when = when))
      kafka.earliestListings.get - before
    }
    assert(asked(ClusterQuestion.InTrigger) > 0)
    val leader = kafka.leaders(("u", 0))
    kafka.leaders -= (("u", 0))
    asked(ClusterQuestion.InTrigger)
    kafka.leaders += ("u", 0) -> leader
    kafka.ends += ("t", 0) -> 11L
    assert(asked(ClusterQuestion.Ahead) > 0)
  }

  test("a start by time is never out of range, but an exact one is") {
    val kafka = ScriptedCluster.led(1)
    kafka.byTime = Map(("t", 0) -> 12L)
    kafka.onResolve = () => {
      kafka.ends = Map(("t", 0) -> 14L)
      kafka.earliest = Map(("t", 0) -> 3L)
    }
    val later = ask(stream(kafka, long), enters(OffsetsPolicy.Timestamp(1L)))
    assert(later.entering.get("t", 0).contains(12L) && later.ends.get("t", 0).contains(14L))
    kafka.byTime = Map(("t", 0) -> 2L)
    val expired = ask(stream(kafka, long), enters(OffsetsPolicy.Timestamp(1L)))
    assert(expired.entering.get("t", 0).contains(3L))
    val exact = ask(stream(kafka, long), enters(OffsetsPolicy.Exact(Map("blue" -> Map("t" -> Map(0 -> 2L))))))
    assert(exact.entering.get("t", 0).contains(2L) && exact.earliest.get("t", 0).contains(3L))
  }

  test("a client that gets no response is replaced within the time limit of the cluster") {
    val kafka = ScriptedCluster.led(1)
    kafka.describes = _ == 2
    // An attempt is a quarter of the limit, and at least 5 s.
    val view = ask(stream(kafka, config(20000)), reads(0 -> 4L))
    assert(view.ends.get("t", 0).contains(10L) && view.unanswered.isEmpty)
    assert(kafka.opened.get == 2 && kafka.closed.get == 1)
  }

  test("a partition whose leader is gone is asked of its next leader, with a new client") {
    val kafka = ScriptedCluster.led(1, 2)
    val cluster = stream(kafka, long)
    assert(ask(cluster, reads(0 -> 4L, 1 -> 4L)).unanswered.isEmpty)
    kafka.silent = Set(1)
    val answer = cluster.ask(reads(0 -> 4L, 1 -> 4L), pool)
    kafka.leaders = Map(("t", 0) -> Some(3), ("t", 1) -> Some(2))
    val view = answer.get(60, TimeUnit.SECONDS)
    assert(view.ends.get("t", 0).contains(10L) && view.ends.get("t", 1).contains(10L), view)
    assert(kafka.opened.get == 2)
  }

  test("a partition without a leader delays nothing, and is not asked about until it has one") {
    val kafka = ScriptedCluster.led(1, 2)
    val cluster = stream(kafka, long)
    kafka.leaders = Map(("t", 0) -> None, ("t", 1) -> Some(2))
    val views = Seq.fill(5)(ask(cluster, reads(0 -> 4L, 1 -> 4L)))
    views.foreach { view =>
      assert(view.unanswered == Map(("t", 0) -> "partition has no leader"))
      assert(view.ends == Positions.from(Seq(("t", 1, 10L))) && view.missing.isEmpty)
    }
    assert(kafka.listings.get == 6, "once for partition 0, before it was described")
    kafka.leaders = Map(("t", 0) -> Some(3), ("t", 1) -> Some(2))
    eventually(assert(ask(cluster, reads(0 -> 4L, 1 -> 4L)).unanswered.isEmpty))
  }

  test("a topic that was deleted delays nothing") {
    val kafka = ScriptedCluster.led(1)
    val cluster = stream(kafka, long)
    val both = reads(0 -> 4L).copy(topics = Set("t", "u"))
    val known = both.copy(known = both.known ++ Positions.from(Seq(("u", 0, 4L))))
    (1 to 2).foreach { _ =>
      val from = System.nanoTime()
      val view = ask(cluster, known)
      assert(view.missing == Set("u") && view.ends == Positions.from(Seq(("t", 0, 10L))), view)
      assert(msSince(from) < 4000, "the client never lists the offsets of a topic that does not exist")
    }
  }

  test(
    "a leader that does not respond delays one trigger, and is asked again while triggers continue",
    TestAll
  ) {
    val kafka = ScriptedCluster.led(1, 2)
    kafka.silent = Set(1)
    val cluster = stream(kafka, config(20000))
    val first = ask(cluster, reads(0 -> 4L, 1 -> 4L))
    assert(first.unanswered.keySet == Set(("t", 0)) && first.unanswered.values.head.contains("broker 1"))
    assert(first.ends == Positions.from(Seq(("t", 1, 10L))))
    val from = System.nanoTime()
    (1 to 20).foreach(_ => assert(ask(cluster, reads(0 -> 4L, 1 -> 4L)).unanswered.keySet == Set(("t", 0))))
    assert(msSince(from) < 4500, "twenty triggers take less than one wait")
    kafka.silent = Set.empty
    eventually(assert(ask(cluster, reads(0 -> 4L, 1 -> 4L)).unanswered.isEmpty))
  }

  test("a complete response waits for each partition, as long as for the cluster") {
    val kafka = ScriptedCluster.led(1, 2)
    kafka.leaders = Map(("t", 0) -> None, ("t", 1) -> Some(2))
    val answer = stream(kafka, long).ask(enters(OffsetsPolicy.Latest).copy(complete = true), pool)
    eventually(assert(kafka.listings.get >= 3))
    assert(!answer.isDone)
    kafka.leaders = Map(("t", 0) -> Some(3), ("t", 1) -> Some(2))
    assert(answer.get(60, TimeUnit.SECONDS).unanswered.isEmpty)
    kafka.leaders = Map(("t", 0) -> None, ("t", 1) -> Some(2))
    val incomplete = ask(stream(kafka, config(1000)), enters(OffsetsPolicy.Latest).copy(complete = true))
    assert(incomplete.unanswered.keySet == Set(("t", 0)))
  }

  test("questions that are asked ahead do not list the earliest offsets each time, all others do") {
    val kafka = ScriptedCluster.led(1)
    val time = new ManualClock
    val cluster = new ClusterStream("blue", long, time, kafka.clients)
    val ahead = reads(0 -> 4L).copy(when = ClusterQuestion.Ahead)
    def earliest(question: ClusterQuestion) = ask(cluster, question).earliest.get("t", 0)
    assert((1 to 5).forall(_ => earliest(ahead).contains(0L)) && kafka.earliestListings.get == 1)
    kafka.earliest = Map(("t", 0) -> 3L)
    assert(earliest(ahead).contains(0L))
    assert(earliest(reads(0 -> 4L)).contains(3L) && earliest(ahead).contains(3L))
    kafka.earliest = Map(("t", 0) -> 4L)
    time.advanceMs(5001)
    assert(earliest(ahead).contains(4L) && kafka.earliestListings.get == 3)
  }

  test("a client that is replaced closes while another request to it is pending") {
    val kafka = ScriptedCluster.led(1)
    kafka.describes = _ != 1
    // An attempt takes five seconds.
    val cluster = stream(kafka, config(20000))
    val both = Seq.fill(2)(cluster.ask(reads(0 -> 4L), pool))
    both.foreach(answer => assert(answer.get(60, TimeUnit.SECONDS).ends.get("t", 0).contains(10L)))
    eventually(assert(kafka.closed.get == 1 && kafka.opened.get == 2))
    assert(kafka.stuck.get == 0)
  }

  test("a quiet cluster is asked ahead for its latest offsets only, and described when they change") {
    val kafka = ScriptedCluster.led(1)
    val time = new ManualClock
    val cluster = new ClusterStream("blue", long, time, kafka.clients)
    val ahead = reads(0 -> 10L).copy(when = ClusterQuestion.Ahead)
    def descriptionsOf(questions: ClusterQuestion*): Int = {
      val before = kafka.descriptions.get
      questions.foreach(ask(cluster, _))
      kafka.descriptions.get - before
    }
    assert(descriptionsOf(ahead, ahead) == 2, "the second one tells that it is quiet")
    assert(descriptionsOf(ahead, ahead, ahead) == 0)
    assert(ask(cluster, ahead) eq ask(cluster, ahead))
    assert(
      descriptionsOf(ahead.copy(when = ClusterQuestion.InTrigger), ahead.copy(topics = Set("t", "u"))) > 2,
      "others"
    )
    assert(descriptionsOf(ahead, ahead) == 2)
    kafka.ends = Map(("t", 0) -> 11L)
    assert(descriptionsOf(ahead, ahead) == 2 && ask(cluster, ahead).ends.get("t", 0).contains(11L))
    assert(descriptionsOf(ahead) == 0)
    time.advanceMs(5001)
    assert(descriptionsOf(ahead) == 1, "old")
    kafka.leaders = Map(("t", 0) -> Some(1), ("t", 1) -> Some(1))
    kafka.ends += ("t", 1) -> 10L
    time.advanceMs(5001)
    assert(ask(cluster, ahead).ends.get("t", 1).contains(10L), "a new partition")
    kafka.leaders = Map.empty
    assert(ask(cluster, ahead).missing == Set("t"), "a topic that was deleted")
  }

  private def streams(
      clusters: Map[String, ScriptedCluster],
      limitMs: Long,
      skip: Boolean
  ): ClusterStreams = {
    val all = new ClusterStreams(
      (id, config) => stream(clusters(id), config, id),
      skipUnreachable = skip,
      failureTimeoutMs = -1,
      Clock.System
    )
    all.set(clusters.map { case (id, _) => id -> config(limitMs) })
    all
  }

  test(
    "an unreachable cluster is probed with the request that failed, and no trigger waits for it again",
    TestAll
  ) {
    val (ill, well) = (ScriptedCluster.led(1), ScriptedCluster.led(1))
    // It gives its `cluster.id`, but not its topics.
    ill.describes = _ => false
    val all = streams(Map("blue" -> ill, "green" -> well), limitMs = 10000, skip = true)
    try {
      def trigger() = all.ask(Map("blue" -> reads(0 -> 4L), "green" -> reads(0 -> 4L)), _ => false).get
      assert(trigger()("blue") == ClusterView.Unreachable)
      val from = System.nanoTime()
      while (msSince(from) < 4000) {
        val one = System.nanoTime()
        val views = trigger()
        assert(msSince(one) < 7000, "it does not wait for the cluster")
        assert(views("blue") == ClusterView.Unreachable && views("green") != ClusterView.Unreachable)
        Thread.sleep(20)
      }
      ill.describes = _ => true
      eventually(assert(trigger()("blue") != ClusterView.Unreachable))
    } finally all.close()
  }

  test("a cluster whose id was not returned is asked for it again, before a batch is logged without it") {
    val kafka = ScriptedCluster.led(1)
    var requests = 0
    kafka.id = () => {
      requests += 1
      if (requests == 1) CompletableFuture.failedFuture(new TimeoutException("the machine is busy"))
      else CompletableFuture.completedFuture("kafka-id")
    }
    val all = streams(Map("blue" -> kafka), limitMs = 600000, skip = false)
    try
      all.ask(Map("blue" -> reads(0 -> 4L)), _ => false).get("blue") match {
        case view: ClusterView.Reachable => assert(view.kafkaId.contains("kafka-id"))
        case other => fail(other.toString)
      }
    finally all.close()
  }

  test("a batch that is read again asks all its clusters at once") {
    val clusters = (1 to 8).map(i => s"c$i" -> ScriptedCluster.led(1)).toMap
    val asked = new CountDownLatch(clusters.size)
    // None answers before all have been asked.
    clusters.values.foreach(_.id =
      () =>
        CompletableFuture.supplyAsync(
          () => {
            asked.countDown()
            asked.await()
            "kafka-id"
          },
          pool
        )
    )
    val all = streams(clusters, limitMs = 20000, skip = false)
    try assert(all.identities(clusters.map { case (id, _) => id -> Set("t") }).values.forall(_.isRight))
    finally all.close()
  }
}
