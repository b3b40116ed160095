package io.github.dynamickafka.offset

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.util.Random
import scala.util.control.NonFatal

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.NoneWrong
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

/**
 * Many random histories of clusters, topics and partitions under random topologies, budgets, outages of clusters and of
 * partitions, and restarts, against a model of Kafka that consists of end offsets only. All batches together have to read
 * every record from each partition's entering position on, exactly once.
 */
class ReconcilePropertySuite extends AnyFunSuite with TimeLimit {

  private val clusterIds = Seq("a", "a-b", "c")
  private val topicNames = Seq("t", "b-t", "u")

  /**
   * @param bounded every partition ends at the end offset that it has when it is first seen
   * @param recreated topics are deleted and recreated, with any number of partitions and records
   */
  private final class Model(seed: Long, val bounded: Boolean, recreated: Boolean) {
    val random = new Random(seed)
    var now = 1000000L
    var kafka = Map.empty[(String, String), Map[Int, Long]]
    for (c <- clusterIds; t <- topicNames)
      kafka += (c, t) -> (0 to random.nextInt(2)).map(_ -> random.nextInt(5).toLong).toMap

    /** How often each topic was recreated: its topic id. */
    var incarnation: Map[(String, String), Int] = Map.empty.withDefaultValue(0)

    var topology: Topology = Topology.empty
    var down = Set.empty[String]

    /** Partitions whose offsets a reachable cluster does not return. */
    var leaderless = Set.empty[(String, String, Int)]
    var committed: CompositeOffset = CompositeOffset.empty

    /** Ranges read, by partition, in order. */
    var read = Map.empty[(String, String, Int, Int), Vector[(Long, Long)]]
    var turn = 0L

    /** The stopping offsets, as they were resolved first. */
    var ends = Map.empty[(String, String, Int), Long]

    val rules: Reconcile.Rules = Reconcile.Rules(
      retentionMs = -1,
      drainRemoved = random.nextBoolean(),
      entry = (_, _, _, _) => OffsetsPolicy.Earliest,
      ending = (_, _) => Option.when(bounded)(OffsetsPolicy.Latest)
    )

    def chance(percent: Int): Boolean = random.nextInt(100) < percent

    def change(): Unit = {
      now += random.nextInt(1000)
      random.nextInt(10) match {
        case 0 | 1 => topology = anyTopology()
        case 2 =>
          val (key, ps) =
            kafka.toSeq.sortBy(_._1)(Ordering.Tuple2[String, String]).apply(random.nextInt(kafka.size))
          kafka += key -> (ps + (ps.size -> 0L))
        case 4 if recreated =>
          val key = (clusterIds(random.nextInt(3)), topicNames(random.nextInt(3)))
          incarnation += key -> (incarnation(key) + 1)
          kafka += key -> (0 to random.nextInt(3)).map(_ -> random.nextInt(9).toLong).toMap
        case 3 => down = clusterIds.filter(_ => chance(25)).toSet
        case 5 => leaderless =
            (for (((c, t), ps) <- kafka.toSeq; p <- ps.keys if chance(25)) yield (c, t, p)).toSet
        case _ => kafka = kafka.map { case (k, ps) =>
            k -> ps.map { case (p, end) => p -> (end + random.nextInt(4)) }
          }
      }
    }

    def anyTopology(): Topology = Topology(SortedMap.from(clusterIds.filter(_ => chance(70)).map { c =>
      val topics = topicNames.filter(_ => chance(60))
      c -> TopologyCluster(
        c,
        SortedMap.from(topics.map(t => t -> TopologyTopic("s", draining = chance(25), partitions = anyOf()))),
        Map("bootstrap.servers" -> "x:1")
      )
    }.filter(_._2.topics.nonEmpty)))

    /** In most cases all partitions, otherwise some of the first three. */
    def anyOf(): Option[SortedSet[Int]] =
      Option.when(chance(30))(SortedSet.from((0 to 2).filter(_ => chance(50)))).filter(_.nonEmpty)

    def view(id: String, work: ClusterTransition): ClusterView =
      if (down(id)) ClusterView.Unreachable
      else {
        val all = Positions.from(for (
          t <- work.topics.toSeq; (p, end) <- kafka((id, t)) if work.only.get(t).forall(_(p))
        )
          yield (t, p, end))
        val ends = all.filter((t, p) => !leaderless((id, t, p)))
        val open = ends.iterator.filter { case (t, p, _) =>
          work.ending.get(t).exists(e => e.policy.isDefined && !e.fixed.in(None).contains(p))
        }
        ClusterView.Reachable(
          ends,
          missing = work.topics -- all.topics,
          earliest = Positions.from(ends.iterator.map { case (t, p, _) => (t, p, 0L) }),
          endings = Positions.from(open),
          unanswered = (all -- ends).iterator.map { case (t, p, _) =>
            (t, p) -> "partition has no leader"
          }.toMap,
          identity = ClusterIdentity(
            Some(s"kafka-$id"),
            SortedMap.from(work.topics.iterator.map(t => t -> s"$t-${incarnation((id, t))}"))
          )
        )
      }

    /** A trigger: logged, and then possibly read; a batch that was not read is planned again at a restart. */
    def trigger(): Unit = {
      trigger(Option.when(chance(50))(random.nextInt(12).toLong))
      ()
    }

    /** @return whether anything was logged */
    def trigger(budget: Option[Long]): Boolean = {
      val transition = Reconcile(committed, topology, now, rules)
      val views = transition.clusters.map { case (id, work) => id -> view(id, work) }
      val advance = NextOffset(committed, transition, views, ReplacedClusterPolicy.Fail, _ => true)
      // A topic of which no selected partition exists counts as deleted.
      assert(
        advance.losses.forall {
          case _: Loss.TopicRecreated | _: Loss.TopicGone => recreated
          case _ => false
        },
        s"${advance.losses} from $committed"
      )
      turn += 1
      val lags = advance.spans.map(_.lag)
      val next = advance.offset(budget.fold(lags)(BudgetShare(lags, _, i => (i + turn) % 7L)))
      val changed = !next.sameAs(committed)
      val end = if (changed) next else committed
      val logged = CompositeOffsetJson.read(end.json)
      assert(logged == end)
      val ranges = OffsetRange.beforeLogging(committed, logged)
      assert(ranges == OffsetRange.between(CompositeOffsetJson.read(committed.json), logged))
      for ((id, of) <- ranges; r <- of) {
        val key = (id, r.topic, incarnation((id, r.topic)), r.partition)
        read += key -> (read.getOrElse(key, Vector.empty) :+ (r.from -> r.until))
        assert(r.until <= kafka((id, r.topic))(r.partition), "read past the end")
      }
      committed = logged
      for ((c, topics) <- logged.ends; (t, of) <- topics; (p, end) <- of.offsets) {
        val first = ends.getOrElse((c, t, p), end)
        assert(first == end, s"$c $t-$p had its end at $first, now it is $end")
        ends += (c, t, p) -> end
      }
      changed
    }
  }

  private def check(model: Model): Unit = {
    // All clusters reachable and active: everything is read to the end.
    model.down = Set.empty
    model.leaderless = Set.empty
    model.topology = Topology(SortedMap.from(clusterIds.map(c =>
      c -> TopologyCluster(c, SortedMap.from(topicNames.map(_ -> TopologyTopic("s"))), Map.empty)
    )))
    assert(
      Iterator.continually(model.trigger(None)).take(20).contains(false),
      "the query does not come to rest"
    )
    val joined = model.read.map { case ((c, t, n, p), ranges) =>
      (c, t, n, p) -> ranges.foldLeft(0L) { case (at, (from, until)) =>
        assert(
          from == at,
          s"$c $t-$p: ${if (from > at) "lost" else "repeated"} records between $at and $from: $ranges"
        )
        until
      }
    }
    for (((c, t), partitions) <- model.kafka; (p, end) <- partitions) {
      val reached = joined.getOrElse((c, t, model.incarnation((c, t)), p), 0L)
      val last = if (model.bounded) model.ends((c, t, p)) else end
      assert(reached == last, s"$c $t-$p was read to $reached of $last")
    }
    assert(model.committed.draining.isEmpty)
    for ((c, kept) <- model.committed.retained; (t, of) <- kept.topics)
      assert(!of.id.contains(s"$t-${model.incarnation((c, t))}"), s"$c $t was not resumed")
  }

  private def wrong(bounded: Boolean, recreated: Boolean)(seed: Long): Option[String] =
    try {
      val model = new Model(seed, bounded, recreated)
      (1 to 60).foreach { _ =>
        if (model.chance(50)) model.change()
        model.trigger()
      }
      check(model)
      None
    } catch { case NonFatal(e) => Some(s"DYNAMIC_KAFKA_SEED=$seed: $e") }

  for {
    (name, bounded, recreated) <- Seq(
      ("no record is lost or duplicated, under any order of changes", false, false),
      ("a resolved end does not change and is read up to, under any order of changes", true, false),
      (
        "each topic is read from its beginning when it is recreated, once, under any order of changes",
        false,
        true
      )
    )
  } {
    test(name)(NoneWrong(0 until 50)(wrong(bounded, recreated)))
    test(s"further histories: $name", TestAll)(NoneWrong(50 until 1000)(wrong(bounded, recreated)))
  }
}
