package io.github.dynamickafka.metadata.watch

import scala.collection.immutable.{SortedMap, SortedSet}

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{Removal, Topology, TopologyCluster, TopologyPattern, TopologyTopic}

class RemovalGuardSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private def cluster(id: String, topics: String*) =
    TopologyCluster(
      id,
      SortedMap.from(topics.map(_ -> TopologyTopic("s"))),
      Map("bootstrap.servers" -> s"$id:1")
    )

  private def topology(clusters: TopologyCluster*) = Topology(SortedMap.from(clusters.map(c => c.id -> c)))
  private def of(ids: String*) = topology(ids.map(cluster(_, "t")): _*)

  /** The clusters with their topics that the query uses after each of these answers. */
  private def used(guard: RemovalGuard, answers: Topology*): Seq[Map[String, Set[String]]] =
    answers.map(guard(_).topology.clusters.map { case (id, c) => id -> c.topics.keySet.toSet }.toMap)

  private def ids(guard: RemovalGuard, answers: Topology*): Seq[String] =
    used(guard, answers: _*).map(_.keys.toSeq.sorted.mkString)

  private def guard(most: Option[Int] = None, confirmations: Int = 2) =
    new RemovalGuard("test", most, confirmations)

  /** A topology with a cluster that the last answer lacks. */
  private def lacking(all: Topology, id: String) = all.copy(unconfirmed = SortedMap(id -> Removal.OfCluster))

  private def refusal(guard: RemovalGuard, answer: Topology): String = {
    val e = intercept[DynamicKafkaIllegalArgumentException](guard(answer))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    e.getMessage
  }

  test("a cluster is removed by the second answer in a row that lacks it; one with it starts again") {
    assert(ids(guard(), of("a", "b"), of("a"), of("a")) == Seq("ab", "ab", "a"))
    assert(ids(guard(), of("a", "b"), of("a"), of("a", "b"), of("a"), of("a")) ==
      Seq("ab", "ab", "ab", "ab", "a"))
    assert(ids(guard(confirmations = 1), of("a", "b"), of("a")) == Seq("ab", "a"))
    assert(ids(guard(confirmations = 4), of("a", "b"), of("a"), of("a"), of("a"), of("a")) ==
      Seq("ab", "ab", "ab", "ab", "a"))
  }

  test("without a limit, an answer may lack almost all clusters, and is confirmed as any other") {
    val none = guard(most = Some(Int.MaxValue))
    assert(ids(none, of("a", "b", "c", "d"), of("a"), of("a")) == Seq("abcd", "abcd", "a"))
  }

  test("clusters that are missing by turns are never removed, and each has a count of its own") {
    val turns = Seq.fill(4)(Seq(of("b", "c", "d"), of("a", "c", "d"))).flatten
    assert(ids(guard(), of("a", "b", "c", "d") +: turns: _*).forall(_ == "abcd"))
    assert(ids(guard(), of("a", "b", "c", "d"), of("b", "c", "d"), of("c", "d", "x"), of("c", "d", "x")) ==
      Seq("abcd", "abcd", "bcdx", "cdx"))
  }

  test("clusters that others replace are not missing, however many they are") {
    val copies = topology(Seq("a", "b", "c").map(id => cluster(s"${id}2", "t").copy(replaces = Some(id))): _*)
    assert(ids(guard(), of("a", "b", "c"), copies) == Seq("abc", "a2b2c2"))
  }

  test("what is kept is used as it was, with the rest of the answer") {
    val moved = cluster("a", "t").copy(properties = Map("bootstrap.servers" -> "new:1"))
    val g = guard()
    g(of("a", "b"))
    val Guarded(kept, open) = g(topology(moved))
    assert(open && kept.clusters("a") == moved && kept.clusters("b") == cluster("b", "t"))
    assert(kept.names("a", "t") && !kept.names("b", "t"))
    assert(g(topology(moved)) == Guarded(topology(moved), open = false))
  }

  test("topics and patterns are confirmed likewise, partitions are not") {
    val g = guard()
    assert(used(
      g,
      topology(cluster("a", "t", "u")),
      topology(cluster("a", "t")),
      topology(cluster("a", "t"))
    ).map(_("a").size) == Seq(2, 2, 1))
    val pattern = TopologyPattern("or.*", TopologyTopic("s", matched = true))
    val both = cluster("a", "t").copy(patterns = Seq(pattern))
    val p = guard()
    assert(Seq(both, cluster("a", "t"), cluster("a", "t")).map(c => p(topology(c)).topology)
      .map(_.clusters("a").patterns.size) == Seq(1, 1, 0))
    def some(partitions: Int*) =
      topology(cluster("a").copy(topics =
        SortedMap("t" -> TopologyTopic("s", partitions = Some(SortedSet.from(partitions))))
      ))
    val q = guard()
    q(some(0, 1))
    assert(q(some(0)) == Guarded(some(0), open = false))
  }

  test("more than half of the clusters, rounded down, at least one: the answer is a failure") {
    for ((in, out) <- Seq(1 -> 1, 2 -> 1, 3 -> 1, 4 -> 2, 5 -> 2, 8 -> 4)) {
      val all = (0 until in).map(i => s"c$i")
      assert(ids(guard(confirmations = 1), of(all: _*), of(all.drop(out): _*)).last == all.drop(out).mkString)
      if (out < in) {
        val text = refusal(
          { val g = guard(confirmations = 1); g(of(all: _*)); g },
          of(all.drop(out + 1): _*)
        )
        (all.take(out + 1) ++ Seq("maxRemovedClustersPerChange", "'removed'")).foreach(s =>
          assert(text.contains(s), text)
        )
      }
    }
  }

  test("maxRemovedClustersPerChange: a number, 0 for none; a refused answer changes nothing") {
    val g = guard(most = Some(0))
    g(of("a", "b"))
    assert(refusal(g, of("a")).contains("(b)"))
    assert(refusal(g, of("a")).contains("'maxRemovedClustersPerChange' is 0"))
    assert(ids(g, of("a", "b")) == Seq("ab"))
    assert(ids(guard(most = Some(3), confirmations = 1), of("a", "b", "c"), Topology.empty) == Seq("abc", ""))
    val h = guard()
    h(of("a", "b", "c", "d"))
    h(of("b", "c", "d"))
    refusal(h, of("d"))
    assert(ids(h, of("b", "c", "d")) == Seq("bcd"), "the answer between them was no answer")
  }

  test("explicit removals are immediate, without limit and confirmation") {
    val inactive = of("a").copy(removals = SortedMap.from(Seq("b", "c", "d").map(_ -> Removal.OfCluster)))
    assert(guarded(of("a", "b", "c", "d"), inactive) == Guarded(inactive, open = false))
    val topic = topology(cluster("a", "t")).copy(removals =
      SortedMap("a" -> Removal(SortedSet("u"), Set("or.*")))
    )
    val pattern = TopologyPattern("or.*", TopologyTopic("s", matched = true))
    val before = topology(cluster("a", "t", "u", "or-1").copy(patterns = Seq(pattern)))
    assert(guarded(before, topic) == Guarded(topic, open = false))
    assert(guarded(topology(cluster("a", "t", "v")), topic).open, "'v' is not among them")
  }

  private def guarded(answers: Topology*) = {
    val g = guard()
    answers.map(g(_)).last
  }

  test("a restart compares its first answer with the checkpoint's topology, without matched topics") {
    val pattern = TopologyPattern("or.*", TopologyTopic("s", matched = true))
    val matching = cluster("a", "t").copy(patterns = Seq(pattern))
    val expanded = matching.copy(topics = matching.topics + ("orders" -> pattern.topic))
    val g = guard()
    g.begin(topology(expanded, cluster("b", "t")))
    assert(g(topology(matching)) == Guarded(lacking(topology(matching, cluster("b", "t")), "b"), open = true))
    assert(g(topology(matching)) == Guarded(topology(matching), open = false))
    val h = guard()
    h.begin(of("a", "b", "c", "d"))
    refusal(h, of("a"))
  }

  test(
    "a restart with other streams removes what only the earlier ones have, without limit and confirmation"
  ) {
    def of(id: String, stream: String) = cluster(id).copy(topics = SortedMap("t" -> TopologyTopic(stream)))
    val pattern = TopologyPattern("or.*", TopologyTopic("old", matched = true))
    val g = new RemovalGuard("test", None, 2, _ == "new")
    g.begin(topology(
      of("a", "old"),
      of("b", "old").copy(patterns = Seq(pattern)),
      of("c", "old"),
      of("d", "new").copy(patterns = Seq(pattern)),
      of("e", "new")
    ))
    val answer = topology(of("d", "new"))
    assert(g(answer) == Guarded(lacking(topology(of("d", "new"), of("e", "new")), "e"), open = true))
    assert(g(answer) == Guarded(answer, open = false))
  }

  test("property: what leaves was missing in the last answers, and no answer removes more than the limit") {
    val names = Seq("a", "b", "c", "d", "e")
    val answers = Gen.listOfN(20, Gen.someOf(names)).map(_.map(_.toSeq.sorted))
    forAll(answers, Gen.choose(1, 4), Gen.option(Gen.choose(0, 5))) { (all, confirmations, most) =>
      val g = guard(most, confirmations)
      all.foldLeft((Set.empty[String], Vector.empty[Set[String]])) { case ((before, good), names) =>
        val answer = names.toSet
        try {
          val now = g(of(names: _*)).topology.clusters.keySet.toSet
          assert(answer.subsetOf(now) && now.subsetOf(answer ++ before))
          val recent = (good :+ answer).takeRight(confirmations)
          (before -- now).foreach(id => assert(recent.size == confirmations && !recent.exists(_(id))))
          (now -- answer).foreach(id => assert(recent.exists(_(id))))
          assert((before -- answer).size <= most.getOrElse(math.max(1, before.size / 2)))
          (now, good :+ answer)
        } catch { case _: DynamicKafkaIllegalArgumentException => (before, good) }
      }
    }
  }
}
