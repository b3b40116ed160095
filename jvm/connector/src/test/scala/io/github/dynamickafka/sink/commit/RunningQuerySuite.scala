package io.github.dynamickafka.sink.commit

import java.nio.file.Files

import org.apache.hadoop.conf.Configuration
import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.testkit.TimeLimit

/** A resolution and a run of the query, which must not end the same decision. */
class RunningQuerySuite extends AnyFunSuite with TimeLimit {
  import CommitScene._
  import Resolution._

  private val one = prepared("blue", 0)
  private val two = prepared("green", 0)

  private def decided(): ResolveScene = {
    val d = new ResolveScene(entry(4L, 0, one, two))
    d.kafka.put(ONGOING, one, two)
    d
  }

  private def conflict(body: => Any): String = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.JOURNAL_CONFLICT")
    e.getMessage
  }

  test(
    "a run that shows itself, or starts, while the command looks: refused, and nothing is claimed or ended"
  ) {
    Seq[ResolveScene => Unit](
      d => d.beat(d.scene.journal.owner().get.generation),
      _.scene.claim("second")
    ).foreach { happens =>
      val d = decided()
      assert(d.refused(
        AcceptLoss,
        meanwhile = () => happens(d)
      ).contains("of the query is at work on batch 4"))
      assert(d.isOpen && d.kafka.requests.isEmpty && !d.scene.journal.owner().exists(_.run.contains("alice")))
    }
  }

  test("a run that has finished the decision meanwhile") {
    val d = decided()
    assert(d.refused(AcceptLoss, meanwhile = () => d.scene.journal.finish(d.entry)).contains("is not open"))
  }

  test("the last heartbeat of a run that died does not count") {
    val d = decided()
    d.beat(d.scene.journal.owner().get.generation)
    assert(d.resolve(AcceptLoss) == Seq("committed", "committed"))
    assert(Files.list(d.journalFolder).noneMatch(_.toString.endsWith(".beat")))
  }

  test("a run shows itself while it ends transactions for long") {
    val d = decided()
    val claim = d.scene.journal.owner().get
    def await(what: => Boolean): Unit = {
      val end = System.nanoTime() + 60000000000L
      while (!what && System.nanoTime() < end) Thread.sleep(10L)
    }
    d.scene.journal.ending(claim) {
      await(d.scene.journal.beat(claim).isDefined)
      val first = d.scene.journal.beat(claim)
      assert(first.isDefined)
      val why = d.refused(AcceptLoss, meanwhile = () => await(d.scene.journal.beat(claim) != first))
      assert(why.contains(s"'${claim.run}'"))
    }
    assert(d.scene.journal.beat(claim).isEmpty)
  }

  test("a run that was paused before a resolution does not end the decision afterwards") {
    val d = decided()
    val paused = d.scene.start("first")
    d.kafka.setDown("green")
    assert(d.resolve(AbandonCluster("green")) == Seq("committed", "unreachable"))
    d.kafka.setDown()
    // As it has read the journal before.
    Files.delete(d.journalFolder.resolve("4-0.done"))
    val text = conflict(paused.recover())
    assert(text.contains("run 'resolve by alice' of the query started after this run"), text)
    assert(d.kafka.in(COMPLETE_COMMIT) == Set(one.transactionalId) && d.isOpen)
  }

  test("a checkpoint that the operator sees under another path is not a copy for the query") {
    val d = decided()
    val before = d.scene.journal.owner().get
    val link = Files.createTempDirectory("dynamic-kafka-link-").resolve("checkpoint")
    Files.createSymbolicLink(link, java.nio.file.Path.of(d.scene.location))
    val seen = new Journal(link.toString, new Configuration)
    assert(d.resolve(Rewrite, journal = seen) == Seq("aborted", "aborted"))
    assert(d.kafka.in(COMPLETE_ABORT).size == 2)
    val after = d.scene.journal.owner().get
    assert(after.instance == before.instance && after.location == before.location)
    assert(after.generation == before.generation + 1)
    val next = d.scene.journal.claim("q", "next")
    assert(next.instance == before.instance && next.generation == after.generation + 1)
  }

  test("notes that cannot be read: an error, and nothing is ended") {
    val d = decided()
    Files.writeString(d.journalFolder.resolve("resolved-4-0.json"), "[{}]")
    assert(conflict(d.resolve(AcceptLoss)).contains("resolved-4-0.json"))
    assert(d.kafka.in(ONGOING).size == 2 && d.isOpen)
  }
}
