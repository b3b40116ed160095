package io.github.dynamickafka.source.trigger

import java.nio.file.Files
import java.util.concurrent.{CompletableFuture, CountDownLatch, TimeUnit}

import scala.collection.immutable.SortedMap

import org.apache.hadoop.conf.Configuration
import org.apache.kafka.common.KafkaException
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{DiscoveryOptions, Options, Subscription}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.kafka.ClusterClients
import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.offset.replacement.LastRecord
import io.github.dynamickafka.offset.replacement.SameOffsets.Answer
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterView,
  CompositeOffset,
  LogKey,
  Positions,
  ReadUntil,
  Retained
}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterStream, ClusterStreams, ScriptedCluster}
import io.github.dynamickafka.source.{Entry, EntryService, Logs}
import io.github.dynamickafka.testkit.TimeLimit

/** What a trigger makes of responses that were requested before it. The cluster takes longer than a trigger waits. */
class TriggerPlannerSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private final class Query(
      policy: ReplacedClusterPolicy = ReplacedClusterPolicy.Fail,
      read: LogKey => Option[LastRecord] = _ => None,
      records: Replacements.RecordsAt = RecordsAt.byConsumer,
      chosen: Seq[(String, String)] = Nil,
      lost: Set[String] = Set.empty
  ) extends AutoCloseable {
    val kafka: ScriptedCluster = ScriptedCluster.led(1)
    kafka.delayMs = 300
    val service = new EntryService
    service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t")))
    private val options = Options.parse(chosen: _*)
    private val discovery = DiscoveryOptions(20L, 100000, 600000L, allowMissingStreams = false)
    private val feed =
      new TopologyFeed(
        MetadataWatcher(service, Subscription.Ids(Seq("orders")), discovery, "test"),
        () => None
      )
    private val streams = new ClusterStreams(
      (id, config) =>
        new ClusterStream(
          id,
          config,
          Clock.System,
          new ClusterClients(_ => if (lost(id)) throw new KafkaException("no address") else kafka.opening())
        ),
      skipUnreachable = options.clusters.unreachable.skip,
      failureTimeoutMs = -1,
      Clock.System,
      maxAgeMs = 600000
    )
    private val checkpoint =
      new SourceCheckpoint(Files.createTempDirectory("checkpoint").toUri.toString, new Configuration)
    val lastRecords = new LastRecords(checkpoint, (_, key) => read(key))
    private val planner =
      new TriggerPlanner(
        new QueryState(options, feed, streams, checkpoint, Clock.System),
        new ReplacedClusters(
          policy,
          new Replacements(policy, records),
          lastRecords,
          streams,
          Clock.System
        )
      )

    def next(start: CompositeOffset): TriggerSnapshot =
      planner.next(start, TriggerContext.Started(None), complete = false, pinned = None)

    /** The first answer of the metadata service. */
    def begin(): Unit = { val _ = feed.first() }

    def requests: Int = kafka.listings.get

    override def close(): Unit =
      try feed.close()
      finally streams.close()
  }

  private def query(body: Query => Any): Unit = query(new Query)(body)

  private def query(q: Query)(body: Query => Any): Unit =
    try { val _ = (q.begin(), body(q)) }
    finally q.close()

  private def at(offset: Long) = CompositeOffset(SortedMap("blue" -> Positions.from(Seq(("t", 0, offset)))))

  test("an idle trigger computes nothing as long as no response differs") {
    query { q =>
      val start = at(10L)
      val first = q.next(start)
      val before = q.requests
      eventually {
        assert(q.next(start) eq first)
        assert(q.requests > before + 2, "although it has asked meanwhile")
      }
      assert(q.next(at(10L)) ne first, "another start")
      q.kafka.ends = Map(("t", 0) -> 11L)
      eventually(assert(q.next(start).next.spans.map(_.lag) == Seq(1L)))
    }
  }

  test("a position beyond an older response is no loss: a response is requested afterwards") {
    query { q =>
      q.next(at(10L))
      q.kafka.ends = Map(("t", 0) -> 15L)
      val later = q.next(at(15L))
      assert(later.next.losses.isEmpty && later.next.spans.map(s => s.from -> s.end) == Seq(15L -> 15L))
    }
  }

  test("a loss that a response afterwards confirms is judged") {
    query { q =>
      q.next(at(10L))
      q.kafka.ends = Map(("t", 0) -> 12L)
      assert(q.next(at(15L)).next.losses.nonEmpty)
    }
  }

  test("a drain target is the latest offset of when the topic starts to drain") {
    query { q =>
      q.next(at(10L))
      q.kafka.ends = Map(("t", 0) -> 15L)
      q.service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t").draining))
      val first =
        Iterator.continually(q.next(at(10L))).find(_.topology.clusters("blue").topics("t").draining).get
      assert(first.next.rest.draining("blue").get("t", 0).contains(15L))
    }
  }

  test("a topic that is missing while it drains keeps its target until the grace period has passed") {
    query { q =>
      q.service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t").draining))
      q.kafka.leaders = Map.empty
      val start = at(4L).copy(until = ReadUntil(SortedMap("blue" -> Positions.from(Seq(("t", 0, 10L))))))
      val found = Iterator.continually(q.next(start))
        .find(t => t.topology.clusters("blue").topics("t").draining && t.next.losses.nonEmpty).get
      assert(found.next.rest.draining.get("blue").flatMap(_.get("t", 0)).contains(10L))
    }
  }

  test("same-offsets: a topic that returns has the record that was read last, or the query fails") {
    val before = at(5L).copy(identities = SortedMap("blue" -> ClusterIdentity(Some("kafka-id"))))
    val away = CompositeOffset(
      SortedMap.empty[String, Positions],
      retained = SortedMap("blue" -> Retained.at(1L, before.position("blue"))),
      identities = before.identities
    )
    def returns(time: Long)(body: Query => Any) = query(new Query(
      ReplacedClusterPolicy.SameOffsets,
      _ => Some(LastRecord(4L, 100L)),
      (_, questions) => questions.map { case (key, of) => key -> Answer(Some(LastRecord(of.record, time))) }
    )) { q =>
      q.lastRecords.finished(before, before)
      body(q)
    }
    returns(100L)(q => assert(q.next(away).next.spans.map(s => s.from -> s.end) == Seq(5L -> 10L)))
    returns(101L) { q =>
      val e = intercept[DynamicKafkaRuntimeException](q.next(away))
      assert(e.getCondition.endsWith("CLUSTER_REPLACED"))
      assert(e.getMessage.contains("the record at offset 4 has the time 101"), e.getMessage)
    }
  }

  test(
    "same-offsets: the last records of a cluster are those of the one that replaces it, also before it is read"
  ) {
    val last = LastRecord(4L, 100L)
    val records: Replacements.RecordsAt =
      (_, questions) => questions.map { case (key, _) => key -> Answer(Some(last)) }
    query(new Query(ReplacedClusterPolicy.SameOffsets, _ => Some(last), records)) { q =>
      val start = at(5L).copy(identities = SortedMap("blue" -> ClusterIdentity(Some("former"))))
      q.lastRecords.finished(start, start)
      q.service.streams = Map("orders" -> Seq(Entry.at("green", "g:1", "t").replacing("blue")))
      eventually(assert(q.next(start).next.spans.map(_.cluster) == Seq("green")))
      assert(q.lastRecords.of("green", start.position("blue")) == Map(("t", 0) -> last))
    }
  }

  test("decisions about several clusters are made at the same time") {
    val reading = new CountDownLatch(2)
    val records: Replacements.RecordsAt = (_, questions) => {
      reading.countDown()
      assert(reading.await(20, TimeUnit.SECONDS), "the other cluster is read afterwards")
      questions.map { case (key, of) => key -> Answer(Some(LastRecord(of.record, 100L))) }
    }
    val policy = ReplacedClusterPolicy.SameOffsets
    query(new Query(policy, _ => Some(LastRecord(4L, 100L)), records)) { q =>
      q.service.streams =
        Map("orders" -> Seq(Entry.at("blue", "b:1", "t"), Entry.at("green", "g:1", "u")))
      q.kafka.leaders += ("u", 0) -> Some(1)
      q.kafka.ends += ("u", 0) -> 10L
      val start = CompositeOffset(
        SortedMap(
          "blue" -> Positions.from(Seq(("t", 0, 5L))),
          "green" -> Positions.from(Seq(("u", 0, 5L)))
        ),
        identities = SortedMap.from(Seq("blue", "green").map(_ -> ClusterIdentity(Some("former"))))
      )
      q.lastRecords.finished(start, start)
      // Without identities nothing is decided, while one of the clusters is not in the topology yet, or has not responded.
      eventually {
        val views = q.next(start.copy(identities = SortedMap.empty)).views
        assert(views.size == 2 && views.values.forall(_ != ClusterView.Pending))
      }
      val found = q.next(start)
      assert(found.next.spans.map(s => s.from -> s.end) == Seq(5L -> 10L, 5L -> 10L))
    }
  }

  test("a cluster that waits for a lost one, which it replaces, is named once, with the way out") {
    val chosen = Seq("clusterFailurePolicy" -> "skip", "replacedClusterPolicy" -> "earliest")
    query(new Query(ReplacedClusterPolicy.Earliest, chosen = chosen, lost = Set("blue"))) { q =>
      val green = Entry.at("green", "g:1", "t").replacing("blue")
      q.service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t").draining, green))
      val start = at(10L)
      val lines = Logs.during(classOf[TriggerPlanner]) {
        eventually {
          val next = q.next(start)
          assert(next.topology.clusters.contains("green"))
          assert(next.views.get("blue").contains(ClusterView.Unreachable))
        }
        (1 to 3).foreach(_ => assert(q.next(start).topology.clusters("green").topics.isEmpty))
      }.filter(_.contains("'blue' does not respond"))
      assert(lines.size == 1 && lines.head.contains("'state' in the metadata to 'removed'"), lines)
      q.service.streams = Map("orders" -> Seq(Entry.at("blue", "b:1", "t").copy(state = "removed"), green))
      eventually(assert(q.next(start).topology.clusters("green").topics.nonEmpty))
    }
  }

  test("a cluster.id that alternates between answers is said by name") {
    query { q =>
      val ids = Iterator.continually(Seq("kafka-id", "other")).flatten
      q.kafka.id = () => ids.synchronized(CompletableFuture.completedFuture(ids.next()))
      val start = at(10L).copy(identities = SortedMap("blue" -> ClusterIdentity(Some("other"))))
      val e = intercept[DynamicKafkaRuntimeException](q.next(start))
      assert(e.getCondition.endsWith("CLUSTER_REPLACED"))
      assert(
        e.getMessage.contains("its cluster.id alternates between answers (kafka-id, other)"),
        e.getMessage
      )
    }
  }
}
