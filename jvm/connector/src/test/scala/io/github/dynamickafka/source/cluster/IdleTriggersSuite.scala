package io.github.dynamickafka.source.cluster

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

/** Queries that rest while there is nothing to read and nothing to ask. */
class IdleTriggersSuite extends AnyFunSuite with TimeLimit {

  private final class Query {
    var until = Long.MinValue
    var rests = Vector.empty[Long]
    val clock: ManualClock = new ManualClock {
      override def pauseMs(ms: Long): Unit = {
        rests :+= ms
        advanceMs(ms)
      }
    }
    private val idleTriggers = new IdleTriggers[String, String](() => until, clock)
    def asked(questions: String): Unit = idleTriggers.asked(questions, s"views of $questions")
    def answers(questions: String): Option[String] = idleTriggers.answers(questions)

    /** Many triggers without a batch. */
    def idle(): Unit = {
      asked(same)
      until = 50000
      (1 to 100).foreach { _ =>
        clock.advanceMs(10)
        answers(same)
      }
    }

    clock.advanceMs(1000)
  }

  private val same = "questions"

  test("a trigger that asks the same rests, and finds the same") {
    val q = new Query
    q.asked(same)
    q.until = 1100
    q.clock.advanceMs(10)
    assert(q.answers(same).contains("views of questions") && q.rests == Vector(15L))
    assert(q.answers(new String(same)).isEmpty, "equal questions of another transition are not the same")
  }

  test("the rest ends when a cluster is to be asked, and then it is asked") {
    val q = new Query
    q.asked(same)
    q.until = 1017
    q.clock.advanceMs(10)
    assert(q.answers(same).isEmpty && q.rests == Vector(7L))
    assert(q.answers(same).isEmpty && q.rests.size == 1)
  }

  test("no rest after a batch: another source of the query may have more records") {
    val q = new Query
    q.asked(same)
    q.until = 5000
    q.clock.advanceMs(60)
    assert(q.answers(same).isDefined && q.rests.isEmpty)
    q.clock.advanceMs(10)
    assert(q.answers(same).isDefined && q.rests == Vector(15L), "two triggers in a row without a batch")
  }

  test("rests grow while there are no batches, to a twentieth of the time, and start again after one") {
    val q = new Query
    q.asked(same)
    q.until = 50000
    def triggers(n: Int): Unit = (1 to n).foreach { _ =>
      q.clock.advanceMs(10)
      assert(q.answers(same).isDefined)
    }
    triggers(100)
    assert(q.rests.head == 15L && q.rests.last == 100L && q.rests == q.rests.sorted)
    assert(q.rests.count(_ == 15L) == 13, "300 ms")
  }

  test("the next batch ends long rests") {
    val q = new Query
    q.idle()
    q.clock.advanceMs(60)
    assert(q.answers(same).isDefined)
    q.clock.advanceMs(10)
    assert(q.answers(same).isDefined && q.rests.last == 15L && q.rests(q.rests.size - 2) > 50L)
  }

  test("no rest while a response is pending") {
    val q = new Query
    q.asked(same)
    q.until = Long.MinValue
    q.clock.advanceMs(10)
    assert(q.answers(same).isEmpty && q.rests.isEmpty)
  }

  test("a batch ends long rests, also if the first trigger after it asks for other offsets") {
    val q = new Query
    q.idle()
    assert(q.rests.last == 100L)
    q.clock.advanceMs(60)
    q.asked("others")
    q.clock.advanceMs(10)
    assert(q.answers("others").isDefined && q.rests.last == 15L)
  }

  test("nothing is known before a trigger has asked") {
    val q = new Query
    q.until = 5000
    assert(q.answers(same).isEmpty && q.rests.isEmpty)
  }
}
