package io.github.dynamickafka.sink

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.immutable.SortedMap

import org.apache.kafka.common.utils.Utils
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.ClusterRouting
import io.github.dynamickafka.metadata.{WriteEntry, WriteStream}
import io.github.dynamickafka.testkit.TimeLimit

class RouterSuite extends AnyFunSuite with TimeLimit {

  private def entry(cluster: String, topics: String*) =
    WriteEntry(cluster, SortedMap.from(topics.map(_ -> None)), None, None)

  private def closed(e: WriteEntry) = e.copy(closed = Some("it is draining"))

  private def router(routing: ClusterRouting, entries: WriteEntry*) =
    new Router(Map("s" -> WriteStream("s", entries)), routing, Some("s"), turn = 0L)

  private def row(
      key: String = null,
      topic: Option[String] = None,
      stream: Option[String] = None,
      cluster: Option[String] = None
  ) = OutputRow(
    Option(key).map(_.getBytes(UTF_8)).orNull,
    Array[Byte](1),
    Nil,
    null,
    None,
    RowTarget(stream, cluster, topic),
    None
  )

  private def to(routes: Seq[Router.Route]): Seq[(String, String)] =
    routes.map(_.fold(u => fail(u.toString), d => d.cluster -> d.topic))

  private def refused(routes: Seq[Router.Route]): Unroutable = routes match {
    case Seq(Left(unroutable)) => unroutable
    case other => fail(s"not refused: $other")
  }

  private val keys = (0 until 2000).map(i => s"key-$i")

  test("key: each key has one cluster, the clusters have about equal shares, independent of their order") {
    val ids = Seq("c", "a", "b")
    val one = router(ClusterRouting.Key, ids.map(entry(_, "t")): _*)
    val other = router(ClusterRouting.Key, ids.reverse.map(entry(_, "t")): _*)
    val chosen = keys.map(k => to(one.route(row(k))))
    assert(chosen == keys.map(k => to(other.route(row(k)))))
    assert(chosen.forall(_.size == 1))
    chosen.groupBy(identity).values.foreach(c => assert(c.size > 500 && c.size < 850))
  }

  test("key: the choice of the cluster is independent of Kafka's choice of the partition") {
    val two = router(ClusterRouting.Key, entry("a", "t"), entry("b", "t"))
    val places = keys.map { k =>
      to(two.route(row(k))).head._1 -> Utils.toPositive(Utils.murmur2(k.getBytes(UTF_8))) % 4
    }
    val counts = places.groupBy(identity).map { case (place, of) => place -> of.size }
    assert(counts.size == 8 && counts.values.forall(n => n > 150 && n < 350), counts)
  }

  test("key: a cluster that is added takes its share from all others, and no key moves between others") {
    def chosen(ids: Seq[String]) = {
      val r = router(ClusterRouting.Key, ids.map(entry(_, "t")): _*)
      keys.map(k => to(r.route(row(k))).head._1)
    }
    val ids = (1 to 8).map(n => s"cluster-$n")
    (1 to 7).foreach { n =>
      val moved = chosen(ids.take(n)).zip(chosen(ids.take(n + 1))).filter { case (before, after) =>
        before != after
      }
      assert(moved.forall(_._2 == ids(n)))
      // On average 2000 / (n + 1), and at most a quarter more.
      assert(moved.size <= 2500 / (n + 1) && moved.size >= 1500 / (n + 1), s"${moved.size} with $n clusters")
      assert(moved.map(_._1).distinct.size == n)
    }
  }

  test("key: the clusters of these keys are those of the first version") {
    val three = router(ClusterRouting.Key, Seq("a", "b", "c").map(entry(_, "t")): _*)
    assert(keys.take(8).map(k => to(three.route(row(k))).head._1).mkString == "abacacca")
  }

  test("without a key: one cluster per task, the next task uses another one") {
    val stream = Map("s" -> WriteStream("s", Seq(entry("a", "t"), entry("b", "t"))))
    val chosen = (0L until 4L).map { turn =>
      val r = new Router(stream, ClusterRouting.Key, Some("s"), turn)
      Seq.fill(50)(to(r.route(row()))).flatten.map(_._1).distinct
    }
    assert(chosen == Seq(Seq("a"), Seq("b"), Seq("a"), Seq("b")))
  }

  test("first: the first writable cluster in the metadata") {
    val entries = Seq(closed(entry("z", "t")), entry("m", "t"), entry("a", "t"))
    assert(to(router(ClusterRouting.First, entries: _*).route(row("k"))) == Seq("m" -> "t"))
    assert(to(router(ClusterRouting.First, entries.reverse: _*).route(row("k"))) == Seq("a" -> "t"))
  }

  test("all: every writable cluster") {
    val all = router(ClusterRouting.All, entry("b", "t"), closed(entry("z", "t")), entry("a", "u"))
    assert(to(all.route(row("k"))) == Seq("a" -> "u", "b" -> "t"))
  }

  test(
    "the cluster of the row takes precedence, and must be a writable cluster of the stream"
  ) {
    val r = router(ClusterRouting.All, entry("a", "t"), entry("b", "t"), closed(entry("z", "t")))
    assert(to(r.route(row("k", cluster = Some("b")))) == Seq("b" -> "t"))
    assert(refused(r.route(row(
      "k",
      cluster = Some("x")
    ))).reason.contains("does not belong to the stream, which has a, b, z"))
    assert(refused(r.route(row("k", cluster = Some("z")))).reason.contains("takes no writes: it is draining"))
    assert(refused(r.route(row("k", cluster = Some("z")))).ownCluster.isEmpty)
  }

  test(
    "a cluster that is left out gets only rows that name it, and its keys go to others; all left out means none"
  ) {
    val stream =
      WriteStream("s", Seq(entry("a", "t"), entry("b", "t"), closed(entry("z", "t")), entry("c", "t")))
    def clusters(without: Set[String], routing: ClusterRouting) = {
      val r = new Router(Map("s" -> stream.without(without)), routing, Some("s"), turn = 0L)
      keys.map(k => to(r.route(row(k))).head._1)
    }
    val three = clusters(Set.empty, ClusterRouting.Key)
    val two = clusters(Set("a"), ClusterRouting.Key)
    assert(three.zip(two).forall { case (before, now) => now != "a" && (before == "a" || now == before) })
    assert(clusters(Set("a"), ClusterRouting.First).distinct == Seq("b"))
    assert(clusters(Set("a", "b"), ClusterRouting.First).distinct == Seq("c"))
    Seq(ClusterRouting.Key, ClusterRouting.First).foreach { routing =>
      assert(clusters(Set("a", "b", "c"), routing) == clusters(Set.empty, routing))
    }
    val r = new Router(Map("s" -> stream.without(Set("a"))), ClusterRouting.Key, Some("s"), turn = 0L)
    assert(to(r.route(row("k", cluster = Some("a")))) == Seq("a" -> "t"))
  }

  test("topic: that of the row if it belongs to the stream there, else the stream's only topic") {
    val r = router(ClusterRouting.First, entry("a", "t", "u"))
    assert(to(r.route(row(topic = Some("u")))) == Seq("a" -> "u"))
    val none = refused(r.route(row()))
    assert(
      none.reason.contains("no value in a column 'topic'") && none.reason.contains("has t, u on this cluster")
    )
    val other = refused(r.route(row(topic = Some("x"))))
    assert(other.reason.contains("has t, u on this cluster") && other.ownCluster.contains("a"))
    val pattern = router(ClusterRouting.First, entry("a").copy(pattern = Some("log-.*")))
    assert(to(pattern.route(row(topic = Some("log-1")))) == Seq("a" -> "log-1"))
    assert(refused(pattern.route(row(topic = Some("xlog-1")))).topic.contains("xlog-1"))
    assert(refused(pattern.route(row())).reason.contains("'log-.*'"))
  }

  test("stream: that of the row, else the option") {
    val streams =
      Map("s" -> WriteStream("s", Seq(entry("a", "t"))), "r" -> WriteStream("r", Seq(entry("b", "u"))))
    val both = new Router(streams, ClusterRouting.Key, Some("s"), 0L)
    assert(to(both.route(row())) == Seq("a" -> "t"))
    assert(to(both.route(row(stream = Some("r")))) == Seq("b" -> "u"))
    assert(refused(both.route(row(stream = Some("x")))).reason.contains("no stream 'x'"))
    val byRow = new Router(streams, ClusterRouting.Key, None, 0L)
    assert(refused(byRow.route(row())).reason.contains("'streamId' is not set"))
  }

  test("a stream without a writable cluster") {
    val r = router(ClusterRouting.Key, closed(entry("a", "t")))
    assert(
      refused(r.route(row("k"))).reason.contains("no cluster of the stream takes writes (a: it is draining)")
    )
  }
}
