package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.UUID

import scala.util.{Failure, Success, Try}

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.storage.ObjectStore
import io.github.dynamickafka.storage.ObjectStore._
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

/** Two drivers with one checkpoint in an object store: claims and decisions, at each of their requests. */
class TwoDriversSuite extends AnyFunSuite with TimeLimit {

  /** A checkpoint in a store of its own. */
  private final class Place(kind: Kind) {
    private val name = UUID.randomUUID().toString
    val store: ObjectStore = ObjectStore.named(name)
    def journal(driver: String): Journal =
      new Journal(s"objects://$name/checkpoint", of(driver, kind), () => CommitScene.Instance)
    def plan(batch: Long): Unit = store.put(s"/checkpoint/offsets/$batch", CommitScene.Planned.getBytes)
  }

  // By FileSystem, the requests are those by FileContext.
  private val kinds = Seq(ByFileContext, Conditional)
  private val Decision = "/checkpoint/dynamic-kafka-sink/0-0.json"

  private def holds(journal: Journal, claim: Claim): Boolean = Try(journal.checkClaim(claim)).isSuccess

  test(
    "two drivers claim the journal, the second one at any step of the first: one of them holds it",
    TestAll
  ) {
    kinds.foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val place = new Place(kind)
        place.journal("c").claim("q", "earlier")
        val (one, two) = (place.journal("a"), place.journal("b"))
        var other: Option[Claim] = None
        val mine =
          stepped.during(place.store) { other = Some(two.claim("q", "other")) }(one.claim("q", "mine"))
        other.foreach { o =>
          assert(Seq(holds(one, mine), holds(two, o)).count(identity) == 1, s"$kind, ${stepped.where}")
          val next = place.journal("c")
          val last = next.claim("q", "next")
          assert(last.generation > mine.generation.max(o.generation) && !holds(one, mine) && !holds(two, o))
        }
      }
      assert(steps >= 10, s"$kind")
    }
  }

  test("a driver dies at any step of its claim: the next one takes the journal", TestAll) {
    kinds.foreach { kind =>
      atEachStep("a") { stepped =>
        val place = new Place(kind)
        val earlier = place.journal("c").claim("q", "earlier")
        stepped.dying(place.store) { val _ = place.journal("a").claim("q", "mine") }
        val next = place.journal("b")
        val claim = next.claim("q", "next")
        assert(claim.generation > earlier.generation && holds(next, claim), stepped.where)
      }
    }
  }

  /** Batch 0 of a query on such a store: what its runs have written, and what became visible. */
  private final class Query(kind: Kind) {
    val place = new Place(kind)
    val scene = new CommitScene
    place.plan(0L)
    private val first = start("a", "first")
    write("first")

    def start(driver: String, run: String): TwoPhaseCommit =
      scene.start(run, kept = place.journal(driver))

    private def prepared(run: String): Prepared = CommitScene.prepared("blue", 0, run)
    private def write(run: String): Unit = scene.kafka.put(ONGOING, prepared(run))

    def commit(query: TwoPhaseCommit, run: String): Unit = {
      val tasks = CommitScene.tasks(prepared(run))
      try query.commit(0L, tasks, scene.clock.nanoTime(), CommitScene.TransactionTimeoutMs)
      catch {
        case e: Exception =>
          // As Spark does.
          query.abort(0L, tasks)
          throw e
      }
    }

    def commitFirst(): Unit = commit(first, "first")

    /** A whole start of the query: Spark runs the batch again, because it has not recorded its end. */
    def run(driver: String, name: String): Try[Unit] = Try {
      val query = start(driver, name)
      query.recover()
      if (!query.lastCommitted.contains(0L)) {
        write(name)
        commit(query, name)
      }
    }

    def visible: Set[String] = scene.kafka.in(COMPLETE_COMMIT)
  }

  test("a driver dies at any step of a decision: the batch is visible once after the next start") {
    kinds.foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val query = new Query(kind)
        stepped.dying(query.place.store)(query.commitFirst())
        assert(query.run("b", "second") == Success(()), stepped.where)
        assert(query.visible.size == 1, stepped.where)
      }
      assert(steps >= 20, s"$kind")
    }
  }

  test("a driver that was paused decides at any step of the next start: the batch is visible once", TestAll) {
    kinds.foreach { kind =>
      var decided = 0
      atEachStep("b") { stepped =>
        val query = new Query(kind)
        val late = query.place.journal("a")
        // It has checked its claim before.
        val second = stepped.during(query.place.store) {
          late.decide(CommitScene.entry(0L, 0, CommitScene.prepared("blue", 0)))
          decided += 1
        }(query.run("b", "second"))
        val where = s"$kind, ${stepped.where}"
        // Spark does not run the batch again if it has not failed.
        assert(query.visible.size == 1 || second.isFailure, where)
        assert(query.run("c", "third") == Success(()), where)
        assert(query.visible.size == 1, where)
      }
      assert(decided >= 20, s"$kind")
    }
  }

  test("a request of a decision fails at any step: the batch is visible once after the next start", TestAll) {
    kinds.foreach { kind =>
      atEachStep("a") { stepped =>
        val query = new Query(kind)
        stepped.during(query.place.store)(throw new IOException("lost"))(Try(query.commitFirst()))
        assert(query.run("b", "second") == Success(()), stepped.where)
        assert(query.visible.size == 1, stepped.where)
      }
    }
  }

  test("a second driver starts at any step of a decision: the batch is never visible twice", TestAll) {
    kinds.foreach { kind =>
      var conflicts = Set.empty[Option[String]]
      val steps = atEachStep("a") { stepped =>
        val query = new Query(kind)
        stepped.during(query.place.store)(query.run("b", "second").get)(Try(query.commitFirst()))
        val where = s"$kind, ${stepped.where}"
        assert(query.visible.size == 1, where)
        query.run("c", "third") match {
          case Success(()) => ()
          case Failure(e) =>
            assert(e.getMessage.contains("has replaced another decision"), where)
            conflicts += stepped.operation
            // What the error says.
            val decision = query.place.store.text(Decision).get
            query.place.store.put(Decision.replace(".json", ".done"), BatchInput.digest(decision).getBytes)
            assert(query.run("c", "fourth") == Success(()), where)
        }
        assert(query.visible.size == 1, where)
      }
      assert(steps >= 20, s"$kind")
      // The first driver had looked for the file of the decision, and wrote it after the second one had finished.
      assert(conflicts.isEmpty == (kind == Conditional), s"$kind: $conflicts")
    }
  }
}
