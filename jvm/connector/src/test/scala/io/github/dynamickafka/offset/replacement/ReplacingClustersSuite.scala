package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{Removal, Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  CompositeOffset,
  FormerCluster,
  Positions,
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
    assert(found.start.retained == left.retained + ("green" -> taken("blue", 10L)))
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
}
