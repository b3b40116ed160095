package io.github.dynamickafka.offset

import java.nio.file.{Files, Path}

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

import io.github.dynamickafka.offset.budget.BudgetShare
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.topology.{
  OffsetsPolicy,
  Removal,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/**
 * Random positions, topologies and responses of clusters, with what the next batch does by [[Reconcile]] and [[NextOffset]]. The
 * command `plan` of the Python package has to say the same.
 */
object PlanCases {
  private val mapper = new ObjectMapper
  private val Seed = 20260L
  private val Clusters = Seq("a", "b", "c")
  private val Topics = Seq("t", "u")

  def file: Path = Path.of(sys.props("dynamickafka.root"), "tests", "conformance", "plan", "random.json")

  /** With `replaces` in the metadata. */
  def replacingFile: Path = file.resolveSibling("replacing.json")

  /** With clusters that are other Kafka clusters than those that were read. */
  def replacedFile: Path = file.resolveSibling("replaced.json")

  def text: String = lines(random => n => expected(s"random $n", one(random), None))

  def replacingText: String = lines { random => n =>
    expected(s"replacing $n", replacing(one(random), random), Some(random.nextBoolean()))
  }

  def replacedText: String = lines { random => n =>
    val of = one(random)
    val others = Clusters.filter(_ => random.nextInt(100) < 60).map { id =>
      val at = of.kafka.get(id).toSeq.flatMap(_.ends.iterator).filter(_ => random.nextInt(100) < 70)
      id -> Positions.from(at.map { case (t, p, end) => (t, p, random.nextInt(end.toInt + 3).toLong) })
    }.toMap
    val known = of.start.clusters.keySet.union(of.start.retained.keySet)
    val identities = SortedMap.from(known.toSeq.map(id => id -> ClusterIdentity(Some(s"kafka-$id"))))
    val replaced = others.filter { case (id, _) => known(id) && of.kafka.contains(id) }
    expected(s"replaced $n", of.copy(start = of.start.copy(identities = identities)), None, replaced)
  }

  /** One case in each line. */
  private def lines(of: Random => Int => ObjectNode): String = {
    val next = of(new Random(Seed))
    (1 to 200).map(n => next(n).toString).mkString("[\n", ",\n", "\n]\n")
  }

  private final case class Kafka(ends: Positions, earliest: Positions)

  private final case class Case(
      start: CompositeOffset,
      topology: Topology,
      kafka: Map[String, Kafka],
      drainRemoved: Boolean
  )

  /** The same with clusters that replace others, which were left at different times, and with two streams. */
  private def replacing(of: Case, random: Random): Case = {
    val retained = of.start.retained.map { case (id, kept) =>
      id -> kept.map((_, topic) => topic.copy(since = 1000L + random.nextInt(3)))
    }
    val clusters = of.topology.clusters.map { case (id, cluster) =>
      val replaces = Option.when(random.nextInt(100) < 60)("d" +: Clusters.filterNot(_ == id))
        .map(others => others(random.nextInt(others.size)))
      val topics = cluster.topics.map { case (name, topic) =>
        name -> topic.copy(stream = if (random.nextInt(100) < 70) "s" else "r")
      }
      id -> cluster.copy(topics = topics, replaces = replaces)
    }
    of.copy(start = of.start.copy(retained = retained), topology = of.topology.copy(clusters = clusters))
  }

  private def one(random: Random): Case = {
    def chance(percent: Int) = random.nextInt(100) < percent
    def positions(topics: Int => Boolean, most: Int) = Positions.from(for {
      (topic, i) <- Topics.zipWithIndex if topics(i)
      p <- 0 to random.nextInt(2)
    } yield (topic, p, random.nextInt(most).toLong))
    def byCluster(percent: Int, most: Int) =
      SortedMap.from(Clusters.filter(_ => chance(percent)).map(_ -> positions(_ => chance(60), most)))
        .filter(_._2.nonEmpty)

    val read = byCluster(70, 20)
    val retained = SortedMap.from(Clusters.filter(_ => chance(40)).map { id =>
      val left = positions(_ => chance(50), 20) -- read.getOrElse(id, Positions.empty)
      id -> Retained.at(
        1000L,
        left,
        drained = Topics.filter(t => chance(20) && !read.get(id).exists(_.topics(t))).toSet
      )
    }).filterNot(_._2.isEmpty)
    val draining = read.map { case (id, at) =>
      val drained = at.topics.filter(_ => chance(30))
      id -> Positions.from(at.filterTopics(drained).iterator.map { case (t, p, o) =>
        (t, p, o + random.nextInt(4))
      })
    }.filter(_._2.nonEmpty)
    val start = CompositeOffset(read, retained = retained, draining = draining)

    val kinds = Clusters.map(id =>
      id -> Topics.map(t =>
        t -> (if (chance(75)) Seq("active", "active", "draining", "removed")(random.nextInt(4)) else "absent")
      )
    )
    def topic(draining: Boolean) = TopologyTopic(
      "s",
      draining = draining,
      partitions = Option.when(chance(20))(SortedSet(random.nextInt(2)))
    )
    val topology = Topology(
      SortedMap.from(kinds.map { case (id, topics) =>
        val named = topics.collect { case (t, kind @ ("active" | "draining")) =>
          t -> topic(kind == "draining")
        }
        id -> TopologyCluster(id, SortedMap.from(named), Map.empty[String, String])
      }.filter(_._2.topics.nonEmpty)),
      removals = SortedMap.from(kinds.map { case (id, topics) =>
        id -> Removal(SortedSet.from(topics.collect { case (t, "removed") => t }), Set.empty)
      }.filter(_._2.topics.nonEmpty))
    )
    val drainRemoved = chance(40)
    val kafka = Clusters.filterNot(_ => chance(15)).map { id =>
      val ends = positions(_ => chance(85), 30)
      val first = ends.iterator.map { case (t, p, end) =>
        (t, p, if (chance(70)) 0L else random.nextInt(end.toInt + 1).toLong)
      }
      id -> Kafka(ends, Positions.from(first))
    }.toMap
    Case(start, topology, kafka, drainRemoved)
  }

  /**
   * @param latest whether clusters that replace others are read from their latest offsets; None: there are none
   * @param continued where the query continues in Kafka clusters that have the id of another one
   */
  private def expected(
      name: String,
      of: Case,
      latest: Option[Boolean],
      continued: Map[String, Positions] = Map.empty
  ): ObjectNode = {
    import of._
    val replacing = ReplacingClusters(start, topology, drainRemoved)
    val rules = Reconcile.Rules(-1, drainRemoved, (_, _, _, _) => OffsetsPolicy.Earliest)
    val transition = Reconcile(replacing.start, replacing.topology, 2000L, rules)
    val views = transition.clusters.collect {
      case (id, work) if kafka.contains(id) =>
        def asked(at: Positions) =
          at.filter((t, p) => work.topics(t) && work.only.get(t).forall(_(p)))
        val (ends, earliest) = (asked(kafka(id).ends), asked(kafka(id).earliest))
        val entering =
          if (!replacing.former.contains(id)) Positions.empty
          else if (latest.contains(true)) ends
          else earliest
        id -> ClusterView.Reachable(
          ends,
          earliest,
          entering = entering,
          missing = work.topics -- kafka(id).ends.topics,
          kafkaId = continued.get(id).map(_ => "another")
        )
    }
    val next = NextOffset(
      replacing.start,
      transition,
      views,
      ReplacedClusterPolicy.Fail,
      _ => false,
      continued.map { case (id, positions) => id -> Continuation(positions) }
    )
    val after = next.latest
    val root = mapper.createObjectNode().put("name", name).put("offset", start.json)
      .put("drain_removed", drainRemoved)
    latest.foreach { latest =>
      root.put("replaced_cluster_policy", if (latest) "latest" else "earliest")
      val replaces = root.putObject("replaces")
      topology.clusters.foreach { case (id, cluster) => cluster.replaces.foreach(replaces.put(id, _)) }
      val former = root.putObject("former")
      replacing.former.toSeq.sorted.foreach { case (id, other) => former.put(id, other) }
    }
    val named = root.putObject("topology")
    topology.clusters.foreach { case (id, cluster) =>
      val topics = named.putObject(id)
      cluster.topics.foreach { case (t, topic) =>
        val entry = topics.putObject(t).put("draining", topic.draining)
        if (latest.isDefined) entry.put("stream", topic.stream)
        topic.partitions.foreach { numbers =>
          val partitions = entry.putArray("partitions")
          numbers.foreach(partitions.add(_))
        }
      }
    }
    if (continued.nonEmpty) {
      val node = root.putObject("continued")
      continued.toSeq.sortBy(_._1).foreach { case (id, positions) => write(node.putObject(id), positions) }
    }
    val removed = root.putObject("removed")
    topology.removals.foreach { case (id, removal) =>
      val topics = removed.putArray(id)
      removal.topics.foreach(topics.add)
    }
    val answers = root.putObject("kafka")
    kafka.toSeq.sortBy(_._1).foreach { case (id, of) =>
      val node = answers.putObject(id)
      write(node.putObject("ends"), of.ends)
      write(node.putObject("earliest"), of.earliest)
    }
    rows(
      root.putArray("enters"),
      next.spans.filter(_.enters).map(s => (s.cluster, s.topic, s.partition, Seq(s.from)))
    )
    rows(root.putArray("drains"), all(next.draining).map { case (c, t, p, at) => (c, t, p, Seq(at)) })
    rows(
      root.putArray("leaves"),
      all(start.clusters).filter { case (c, t, p, _) => after.position(c).get(t, p).isEmpty }
        .map { case (c, t, p, at) => (c, t, p, Seq(at)) }
    )
    rows(root.putArray("reads"), next.spans.map(s => (s.cluster, s.topic, s.partition, Seq(s.from, s.end))))
    share(root, next.spans)
    root
  }

  /** With limits by the number of the case, so that the other parts stay the same. */
  private def share(root: ObjectNode, spans: Seq[Span]): Unit = {
    val random = new Random(root.get("name").asText.hashCode.toLong)
    def limit() = Option.when(random.nextInt(3) > 0)(1L + random.nextInt(40))
    val (query, clusters) = (limit(), Clusters.flatMap(id => limit().map(id -> _)).toMap)
    val limits = root.putObject("limits")
    query.fold(limits.putNull("query"))(limits.put("query", _))
    val ofClusters = limits.putObject("clusters")
    clusters.toSeq.sorted.foreach { case (id, most) => ofClusters.put(id, most) }
    val sorted = spans.sortBy(s => (s.cluster, s.topic, s.partition)).toIndexedSeq
    // As `Limits`, of a query that has left no partition out before.
    val within = sorted.map(_.cluster).distinct.flatMap { id =>
      BudgetShare(sorted.filter(_.cluster == id).map(_.lag), clusters.getOrElse(id, Long.MaxValue))
    }
    val granted = BudgetShare(within, query.getOrElse(Long.MaxValue))
    rows(
      root.putArray("granted"),
      sorted.zip(granted).map { case (s, n) => (s.cluster, s.topic, s.partition, Seq(n)) }
    )
  }

  private def all(clusters: SortedMap[String, Positions]): Seq[(String, String, Int, Long)] =
    clusters.toSeq.flatMap { case (id, at) => at.iterator.map { case (t, p, o) => (id, t, p, o) } }

  private def rows(to: ArrayNode, found: Seq[(String, String, Int, Seq[Long])]): Unit =
    found.sortBy(f => (f._1, f._2, f._3)).foreach { case (cluster, topic, partition, numbers) =>
      val row = to.addArray().add(cluster).add(topic).add(partition)
      numbers.foreach(row.add(_))
    }

  private def write(node: ObjectNode, positions: Positions): Unit =
    positions.byTopic.foreach { case (topic, at) =>
      val topics = node.putObject(topic)
      at.foreach { case (p, offset) => topics.put(p.toString, offset) }
    }
}

/** Writes the file, after a change of the rules. */
object PlanCasesFile extends App {
  println(s"wrote ${Files.writeString(PlanCases.file, PlanCases.text)}")
  println(s"wrote ${Files.writeString(PlanCases.replacingFile, PlanCases.replacingText)}")
  println(s"wrote ${Files.writeString(PlanCases.replacedFile, PlanCases.replacedText)}")
}
