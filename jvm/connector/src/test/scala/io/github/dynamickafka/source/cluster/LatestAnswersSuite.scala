package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.testkit.TimeLimit

/** Clusters whose questions are positions, and whose responses are ends of logs. */
class LatestAnswersSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  /** A position that an older response must not decide. */
  private val Entering = 77L

  /** A negative position decides something for good. */
  private def question(position: Long): ClusterQuestion = ClusterQuestion(
    Set("t"),
    Positions.from(Seq(("t", 0, position))),
    if (position == Entering) Map("t" -> OffsetsPolicy.Latest) else Map.empty,
    when = if (position < 0) ClusterQuestion.Afterwards else ClusterQuestion.InTrigger
  )
  private def view(end: Long) = ClusterView.Reachable(Positions.from(Seq(("t", 0, end))), Positions.empty)

  /** A cluster that responds when a test says so. */
  private final class Asked {
    @volatile var requests = Vector.empty[CompletableFuture[ClusterView.Reachable]]
    def ask(): CompletableFuture[ClusterView.Reachable] = {
      requests :+= new CompletableFuture[ClusterView.Reachable]
      requests.last
    }
    def respond(end: Long): Unit = { val _ = requests.last.complete(view(end)) }
  }

  private val MaxAgeMs = 1000L

  /** With a first response of 10, which took `tookMs`. */
  private final class Query(ids: Seq[String] = Seq("a"), tookMs: Long = 2, maxAgeMs: Long = MaxAgeMs) {
    val clock = new ManualClock
    val clusters: Map[String, Asked] = ids.map(_ -> new Asked).toMap
    val agents = new LatestAnswers((id, _) => clusters(id).ask(), maxAgeMs, clock)
    clock.advanceMs(100)
    ids.foreach(agents.learn(_, Answer(question(0L), view(10L), 100L - tookMs, 100L)))

    private def questions(positions: Map[String, Long]) = positions.map { case (id, p) => id -> question(p) }
    def begin(positions: Map[String, Long]): Unit = agents.begin(questions(positions))
    def take(positions: Map[String, Long]): Map[String, Either[Throwable, Option[Long]]] =
      agents.take(questions(positions)).map { case (id, found) =>
        id -> found.map(_.flatMap(_.view.ends.get("t", 0)))
      }
    def takes(id: String, position: Long): Boolean = agents.takes(id, question(position))
    def trigger(positions: (String, Long)*): Map[String, Either[Throwable, Option[Long]]] = {
      begin(positions.toMap)
      take(positions.toMap)
    }
    def one(position: Long): Option[Long] = trigger("a" -> position)("a").fold(throw _, identity)
    def a: Asked = clusters.getOrElse("a", clusters("c1"))
  }

  test("a trigger uses the newest response and does not wait for the next one") {
    val q = new Query(tookMs = 40)
    assert(q.one(0L).contains(10L) && q.a.requests.size == 1)
    q.clock.advanceMs(500)
    assert(q.one(5L).contains(10L) && q.a.requests.size == 1, "one request at a time")
    q.a.respond(20L)
    assert(q.one(10L).contains(20L) && q.a.requests.size == 2)
  }

  test("a response that is requested by this trigger is used if it arrives within milliseconds") {
    val q = new Query()
    val responds = new Thread(() => {
      while (q.a.requests.isEmpty) Thread.onSpinWait()
      q.a.respond(20L)
    })
    responds.start()
    assert(q.one(0L).exists(Set(10L, 20L)))
    responds.join()
    assert(q.one(10L).contains(20L))
  }

  test("without a response, a cluster is waited for once, and then left out until it responds") {
    val q = new Query(Seq("a", "b"), tookMs = 40)
    assert(q.trigger("a" -> 0L, "b" -> 0L).values.forall(_ == Right(Some(10L))))
    q.clock.advanceMs(MaxAgeMs + 1)
    q.clusters("b").respond(20L)
    assert(q.agents.isLate("a") && !q.agents.isLate("b"))
    assert(q.trigger("a" -> 10L, "b" -> 10L) == Map("a" -> Right(None), "b" -> Right(Some(20L))))
    assert(q.a.requests.size == 1 && q.clusters("b").requests.size == 2)
    q.a.respond(15L)
    assert(q.one(10L).contains(15L) && !q.agents.isLate("a"))
  }

  test("a response that took longer than its age may be is used once, so that a slow cluster is read") {
    val q = new Query(tookMs = 40)
    assert(q.one(0L).contains(10L))
    (1 to 3).foreach { i =>
      q.clock.advanceMs(5 * MaxAgeMs)
      assert(q.one(10L).isEmpty)
      q.a.respond(10L + i)
      assert(q.one(10L).contains(10L + i))
    }
  }

  test("a response that was requested before a long batch is not used after it: a new one is waited for") {
    val q = new Query(tookMs = 40)
    assert(q.one(0L).contains(10L))
    q.clock.advanceMs(600)
    q.a.respond(20L)
    q.clock.advanceMs(MaxAgeMs)
    assert(q.one(10L).isEmpty && q.a.requests.size == 2)
    q.a.respond(30L)
    assert(q.one(10L).contains(30L))
  }

  test("after a long start, the response with the start positions of a query is not used either") {
    val q = new Query(tookMs = 40)
    q.clock.advanceMs(MaxAgeMs + 1)
    assert(q.one(0L).isEmpty && q.a.requests.size == 1)
    q.a.respond(20L)
    assert(q.one(0L).contains(20L))
  }

  test("a cluster without news is asked with growing pauses, at once again when there is something to read") {
    val ids = (1 to 64).map(i => s"c$i")
    val q = new Query("a" +: ids, tookMs = 1)
    def triggers(ms: Int, position: Long, end: Long): Int = {
      val before = q.a.requests.size
      (1 to ms).foreach { _ =>
        q.begin((q.clusters.keysIterator.map(_ -> position)).toMap)
        q.clusters.valuesIterator.filter(_.requests.nonEmpty).foreach(_.respond(end))
        q.clock.advanceMs(1)
      }
      q.a.requests.size - before
    }
    val idle = triggers(3000, position = 10L, end = 10L)
    assert(idle >= 9 && idle <= 14, s"$idle: twice a second, and more often at first")
    assert(triggers(1000, position = 10L, end = 11L) >= 500, "at the next pause, then in each trigger")
  }

  test("quiet clusters are asked in one trigger, and until then it is known that nothing is to be done") {
    val ids = (1 to 64).map(i => s"c$i")
    val q = new Query(ids, tookMs = 1)
    val positions = q.clusters.map { case (id, _) => id -> 10L }
    var busy = 0
    (1 to 3000).foreach { i =>
      if (q.clock.monotonicMs() >= q.agents.unchangedUntil) {
        q.begin(positions)
        // Some respond later than others.
        q.clusters.valuesIterator.zipWithIndex.foreach { case (c, n) =>
          if (c.requests.nonEmpty && (i + n) % 3 == 0) c.respond(10L)
        }
        val _ = q.take(positions)
        if (i > 1000) busy += 1
      }
      q.clock.advanceMs(1)
    }
    assert(busy >= 10 && busy <= 50, "of 2000 triggers, with about six requests to each cluster")
    assert(q.a.requests.size >= 12)
  }

  test(
    "it is not unchanged while there is something to read, a request is pending or has failed, or a response is old"
  ) {
    val q = new Query(tookMs = 1)
    def isUnchanged = q.clock.monotonicMs() < q.agents.unchangedUntil
    def ask(position: Long, end: Long): Unit = {
      while (q.a.requests.forall(_.isDone)) {
        q.begin(Map("a" -> position))
        if (q.a.requests.forall(_.isDone)) q.clock.advanceMs(1)
      }
      assert(!isUnchanged, "pending")
      q.a.respond(end)
      val _ = q.take(Map("a" -> position))
    }
    assert(!isUnchanged, "a response that was waited for does not show whether it is quiet")
    ask(position = 10L, end = 10L)
    assert(isUnchanged)
    q.clock.advanceMs(MaxAgeMs + 1)
    assert(!isUnchanged, "old")
    ask(position = 10L, end = 11L)
    assert(!isUnchanged, "something to read")
  }

  test(
    "a query over few clusters asks in each trigger, so that it finds what was there when the trigger began"
  ) {
    val q = new Query(tookMs = 1)
    (1 to 20).foreach { i =>
      q.begin(Map("a" -> 10L))
      assert(q.a.requests.size == i)
      q.a.respond(10L)
      assert(q.take(Map("a" -> 10L))("a") == Right(Some(10L)))
      q.clock.advanceMs(10)
    }
  }

  test("an equal response is the same object") {
    val q = new Query(tookMs = 40)
    val agents =
      new LatestAnswers((_, _) => CompletableFuture.completedFuture(view(10L)), MaxAgeMs, q.clock)
    val first = view(10L)
    agents.learn("a", Answer(question(0L), first, 0L, 1L))
    agents.begin(Map("a" -> question(0L)))
    val taken = agents.take(Map("a" -> question(0L)))("a").toOption.flatten.get
    assert(taken.view eq first)
    assert(taken.sentAt == 100L, "and as old as its own request")
  }

  test("a request that fails is reported once, and the next question is to be waited for") {
    val q = new Query(tookMs = 40)
    assert(q.one(0L).contains(10L))
    val _ = q.a.requests.last.completeExceptionally(new IllegalStateException("refused"))
    val answers = q.trigger("a" -> 10L)
    assert(answers("a").left.exists(_.getMessage.contains("refused")))
    assert(!q.takes("a", 10L))
  }

  test("a question that decides something for good is not asked ahead, nor anything with an age of 0") {
    val q = new Query()
    assert(q.takes("a", 0L) && !q.takes("a", -1L) && !q.takes("unknown", 0L))
    assert(!q.takes("a", Entering))
    assert(!new Query(maxAgeMs = 0).takes("a", 0L))
  }

  test(
    "whatever the times, a trigger uses a young response, or once one that has taken longer than its age may be"
  ) {
    forAll(Gen.choose(0L, 2000L), Gen.choose(0L, 2000L), Gen.oneOf(true, false), Gen.choose(1L, 1000L)) {
      (tookMs, laterMs, isUsed, maxAgeMs) =>
        val ageMs = tookMs + laterMs
        val usable = AskedCluster.isUsable(ageMs, tookMs, isUsed, maxAgeMs)
        if (ageMs <= maxAgeMs) assert(usable)
        // One that was in time and is old now was sent before a long batch.
        else if (tookMs <= maxAgeMs) assert(!usable)
        else assert(usable == !isUsed)
    }
  }
}
