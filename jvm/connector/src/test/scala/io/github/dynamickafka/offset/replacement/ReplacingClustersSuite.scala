package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  Removal,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterView,
  CompositeOffset,
  FormerCluster,
  NextOffset,
  Positions,
  Reconcile,
  Retained,
  RetainedTopic
}
import io.github.dynamickafka.testkit.TimeLimit

/** `replaces` in the metadata: which cluster enters in the place of another one, and when. */
class ReplacingClustersSuite extends AnyFunSuite with TimeLimit {

  private val some = Positions.from(Seq(("t", 0, 5L)))
  private def reading(ids: String*) = CompositeOffset(SortedMap.from(ids.map(_ -> some)))
  private def retained(since: (String, Long)*) = SortedMap.from(since.map { case (id, at) =>
    id -> Retained.at(at, some)
  })

  private def cluster(id: String, replaces: String = null, draining: Boolean = false, stream: String = "s") =
    id -> TopologyCluster(
      id,
      SortedMap("t" -> TopologyTopic(stream, draining)),
      Map.empty,
      replaces = Option(replaces)
    )
  private def topology(clusters: (String, TopologyCluster)*) = Topology(SortedMap.from(clusters))
  private val green = cluster("green", replaces = "blue")

  private def of(start: CompositeOffset, to: Topology, drainRemoved: Boolean = false) =
    ReplacingClusters(start, to, drainRemoved, now = 30L)

  /** What a cluster takes over of another one. */
  private def taken(from: String, since: Long) =
    Retained(SortedMap("t" -> RetainedTopic(
      since,
      SortedMap(0 -> 5L),
      former = Some(FormerCluster(from, None))
    )))

  test("it enters in the place of a cluster that leaves, or has left") {
    val reads = of(reading("blue"), topology(green))
    assert(reads.former == Map("green" -> "blue") && reads.start.retained("green") == taken("blue", 30L))
    val left = reading().copy(retained = retained("blue" -> 10L))
    val found = of(left, topology(green))
    assert(found.former == Map("green" -> "blue") && found.topology == topology(green))
    assert(found.start.retained ==
      SortedMap("blue" -> Retained.at(10L, some, drained = Set("t")), "green" -> taken("blue", 10L)))
  }

  test("it is not compared with the Kafka cluster that had its id before") {
    val ids = SortedMap("blue" -> ClusterIdentity(Some("K1")), "green" -> ClusterIdentity(Some("K2")))
    val found = of(reading("blue").copy(identities = ids), topology(green))
    assert(found.start.identities == ids - "green")
  }

  test("it counts once, and not for an id that is not known") {
    val entered = reading("green").copy(retained = retained("blue" -> 10L))
    assert(of(entered, topology(green)).former.isEmpty)
    assert(of(reading("red"), topology(green)).former.isEmpty)
    // It has left itself, later than the other one: it returns to its own positions.
    val both = reading().copy(retained = retained("blue" -> 10L, "green" -> 20L))
    assert(of(both, topology(green)) == ReplacingClusters(Map.empty[String, String], both, topology(green)))
  }

  test("on the way back, the positions that were retained before do not count") {
    val back = cluster("blue", replaces = "green")
    val start = reading("green").copy(retained = retained("blue" -> 10L))
    val found = of(start, topology(back))
    assert(found.former == Map("blue" -> "green"))
    assert(found.start.retained("blue") == taken("green", 30L))
  }

  // History 40243492 of copies.
  test("on the way back, topics that drained at different times are compared one by one") {
    def kept(of: (String, Long)*) = Retained(SortedMap.from(of.map { case (topic, at) =>
      topic -> RetainedTopic(at, SortedMap(0 -> 5L))
    }))
    val back = topology(naming("blue", "t", "u", "n")("green"))
    val start = reading().copy(retained =
      SortedMap("blue" -> kept("t" -> 10L, "u" -> 30L), "green" -> kept("t" -> 20L, "n" -> 20L))
    )
    val found = of(start, back)
    assert(found.former == Map("blue" -> "green"))
    assert(found.start.retained("blue").topics.map { case (topic, of) => topic -> of.former.map(_.id).get } ==
      Map("t" -> "green", "u" -> "blue", "n" -> "green"))
    val own = SortedMap("blue" -> kept("t" -> 20L), "green" -> kept("t" -> 20L))
    assert(of(start.copy(retained = own), back).former.isEmpty, "nothing was read later")
  }

  private def read(found: ReplacingClusters) =
    found.topology.clusters.collect { case (id, cluster) if cluster.topics.nonEmpty => id }.toSet

  test("it waits for the other one, which has still to enter in the place of a third one") {
    val middle = cluster("green", replaces = "blue", draining = true)
    val chain = topology(middle, cluster("red", replaces = "green"))
    Seq(reading("blue"), reading().copy(retained = retained("blue" -> 10L))).foreach { start =>
      val found = of(start, chain)
      assert(found.former == Map("green" -> "blue") && found.waiting == Map("red" -> "green"))
      assert(read(found) == Set("green"))
    }
    // It has taken over, and has not responded yet.
    val taking = reading().copy(retained = SortedMap("green" -> taken("blue", 10L)))
    assert(read(of(taking, chain)) == Set("green"))
    val longer = topology(
      cluster("blue", draining = true),
      middle,
      cluster("red", replaces = "green", draining = true),
      cluster("white", replaces = "red")
    )
    assert(read(of(reading("blue"), longer)) == Set("blue"))
    val elsewhere =
      topology(cluster("green", replaces = "blue", stream = "other"), cluster("red", replaces = "green"))
    assert(read(of(reading("blue"), elsewhere)) == Set("green", "red"))
    assert(read(of(reading("white"), chain)) == Set("green", "red"), "it knows none of them")
  }

  test("it waits while the other one drains, or its removal is not confirmed") {
    val draining = topology(cluster("blue", draining = true), green)
    val waiting = of(reading("blue"), draining)
    assert(waiting.former.isEmpty && read(waiting) == Set("blue"))
    assert(waiting.topology.clusters("green").replaces.contains("blue"), "so that blue is not forgotten")
    val returning = reading().copy(retained = retained("blue" -> 10L))
    assert(read(of(returning, draining)) == Set("blue"), "it returns, and drains")
    val retired = reading().copy(retained = SortedMap("blue" -> Retained.at(10L, some, drained = Set("t"))))
    val entered = of(retired, draining)
    assert(entered.former == Map("green" -> "blue") && entered.topology == draining)
    assert(read(of(reading("blue"), topology(cluster("blue"), green))) == Set("blue"))
    assert(read(of(reading("blue"), topology(green), drainRemoved = true)).isEmpty)
    val removed = topology(green).copy(removals = SortedMap("blue" -> Removal.OfCluster))
    assert(of(reading("blue"), removed, drainRemoved = true).former == Map("green" -> "blue"))
  }

  test("a cluster of another stream is not waited for") {
    val other = topology(cluster("blue", stream = "other"), green)
    assert(of(reading("blue"), other).former == Map("green" -> "blue"))
  }

  private def naming(id: String, topics: String*)(replaces: String = null, draining: Boolean = false) =
    id -> TopologyCluster(
      id,
      SortedMap.from(topics.map(_ -> TopologyTopic("s", draining))),
      Map.empty,
      replaces = Option(replaces)
    )

  /** The positions after triggers with these metadata, in which all clusters respond. */
  private def after(topologies: Topology*): CompositeOffset = retaining(-1L)(topologies: _*)

  private def retaining(retentionMs: Long)(topologies: Topology*): CompositeOffset = {
    val rules = Reconcile.Rules(retentionMs, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    topologies.zipWithIndex.foldLeft(CompositeOffset.empty) { case (start, (to, trigger)) =>
      val now = 10L * trigger
      val found = ReplacingClusters(start, to, drainRemoved = false, now)
      val transition = Reconcile(found.start, found.topology, now, rules)
      val views = transition.clusters.map { case (id, work) =>
        def all(offset: Long) = Positions.from(work.topics.map((_, 0, offset)))
        id -> ClusterView.Reachable(all(9L + trigger), all(0L), identity = ClusterIdentity(Some(id)))
      }
      val next = NextOffset(found.start, transition, views, ReplacedClusterPolicy.Latest, _ => true)
      next.offset(next.spans.map(_.lag))
    }
  }

  // Histories 20515203, 20518987, 20522588, 20770093, 20770127 and 20772893 of copies.
  test(
    "what was replaced is not drained again, although the metadata lack the cluster that has taken its place"
  ) {
    val blue = topology(naming("blue", "t", "u")())
    val drains = topology(naming("blue", "t", "u")(draining = true))
    val both =
      topology(drains.clusters("blue").id -> drains.clusters("blue"), naming("green", "t", "u")("blue"))
    val drained = Seq(blue, both, both, both)
    assert(after(drained: _*).clusters.keySet == Set("green"))
    assert(after(drained :+ drains: _*).clusters.isEmpty)
    assert(after(drained :+ Topology.empty :+ drains: _*).clusters.isEmpty, "nothing was named in between")
    val back = topology(naming("blue", "t", "u")("green"))
    assert(
      after(drained :+ Topology.empty :+ drains :+ back: _*).retained.keySet == Set("green"),
      "a later copy"
    )
    assert(after(blue, Topology.empty, topology(naming("green", "t", "u")("blue")), drains).clusters.isEmpty)
  }

  test("... of a topic that the metadata lacked when its cluster was replaced") {
    val without = topology(naming("blue", "u")(draining = true), naming("green", "u")("blue"))
    val drains = topology(naming("blue", "t", "u")(draining = true))
    val replaced = Seq(topology(naming("blue", "t", "u")()), without, without, without)
    assert(after(replaced: _*).clusters.keySet == Set("green"))
    val found = after(replaced :+ drains: _*)
    assert(found.clusters.isEmpty && found.retained("green").topics("t").former.exists(_.id == "blue"))
    val (back, all) = (naming("blue", "t", "u")("green"), naming("blue", "t", "u")())
    Seq(back, all).foreach(active =>
      assert(after(replaced :+ drains :+ topology(active): _*).position("blue").topics == Set("t", "u"))
    )
  }

  test("... nor a topic of another stream that was drained, and whose offsets are not retained any more") {
    def blue(draining: String*) =
      "blue" -> TopologyCluster(
        "blue",
        SortedMap("t" -> "s", "u" -> "r").map { case (topic, stream) =>
          topic -> TopologyTopic(stream, draining.contains(topic))
        },
        Map.empty
      )
    val before = Seq(topology(blue()), topology(blue("u")), topology(blue("u")), topology(blue("u")))
    val copied = topology(blue("t", "u"), naming("green", "t")("blue"))
    val found = (1 to 5).map(n => retaining(0L)(before ++ Seq.fill(n)(copied): _*))
    assert(found.forall(!_.position("blue").topics("u")) && found.last.clusters.keySet == Set("green"))
  }

  /** Green has taken the place of blue, which has never read `u`. */
  private val withoutU = topology(naming("blue", "t")()) +:
    Seq.fill(4)(topology(naming("blue", "t")(draining = true), naming("green", "t")("blue")))

  // History 30556812 of copies.
  test("... nor a topic that it has never read, and the cluster in its place has") {
    val drains = topology(naming("blue", "t", "u")(draining = true))
    val both = topology(naming("blue", "t", "u")(draining = true), naming("green", "t", "u")("blue"))
    val replaced = withoutU :+ both
    assert(after(replaced: _*).position("green").topics == Set("t", "u"))
    assert(after(replaced :+ drains: _*).clusters.isEmpty)
    // For a moment, the metadata lack the topic.
    val without = topology(naming("blue", "t")(draining = true))
    assert(after(replaced :+ without :+ drains: _*).clusters.isEmpty)
  }

  // History 30558648 of copies.
  test("... nor when both return at once") {
    val both = topology(naming("blue", "t", "u")(draining = true), naming("green", "t", "u")("blue"))
    assert(after(withoutU: _*).clusters.keySet == Set("green"))
    assert(after(withoutU :+ Topology.empty :+ both: _*).clusters.keySet == Set("green"))
  }

  test("... of a topic that a third cluster had") {
    val there = topology(naming("green", "u")("blue"))
    val back = topology(naming("blue", "u")("green"))
    val drains = topology(naming("green", "t", "u")(draining = true))
    val found =
      after(topology(naming("blue", "t", "u")()), topology(naming("blue", "u")()), there, back, drains)
    assert(found.position("green").isEmpty)
  }

  // History 20263668 of copies.
  test("a topic that both clusters get when one replaces the other is read in the new one") {
    def both(topics: String*) =
      topology(naming("blue", topics: _*)(draining = true), naming("green", topics: _*)("blue"))
    val found = after(topology(naming("blue", "u")()), both("u"), both("u"), both("t", "u"))
    assert(found.position("blue").isEmpty && found.position("green").topics == Set("t", "u"))
  }
}
