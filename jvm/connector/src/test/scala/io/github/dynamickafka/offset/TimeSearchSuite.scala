package io.github.dynamickafka.offset

import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.testkit.TimeLimit

class TimeSearchSuite extends AnyFunSuite with TimeLimit {
  private val Now = 1000000L
  private val key = LogKey("a", "t", 0)

  /** What is known after a search, and the number of rounds. */
  private def search(log: TimedLog, at: Long, driftMs: Long): (PartitionTimes, Int) = {
    @annotation.tailrec
    def next(known: PartitionTimes, rounds: Int): (PartitionTimes, Int) =
      TimeSearch.questions(Map(key -> known), Seq(known), Now, driftMs).get(key) match {
        case None => (known, rounds)
        case Some(time) => next(known.answered(log.answer(time, Now, log.end)), rounds + 1)
      }
    next(PartitionTimes(at, log.end, at), 0)
  }

  test("the time of a position is found to a sixteenth of the drift, never too late, in any log") {
    val first = TestSeed()
    (first until first + 20000).foreach { seed =>
      val random = new Random(seed)
      val log = TimedLog.any(random, Now, 60)
      if (log.end > 0) {
        val at = random.nextInt(log.end.toInt).toLong
        val driftMs = 1L + random.nextInt(50000)
        val (known, rounds) = search(log, at, driftMs)
        val clue = s"DYNAMIC_KAFKA_SEED=$seed: $log at $at, drift $driftMs: $known"
        assert(rounds <= 25, clue)
        val found = known.time(Now)
        val isLevel = found.exists(_ > Now - driftMs)
        // Whether an answer is about the first unread record cannot be seen if there is none at the position.
        val isHole = !log.unread(at).exists(_._1 == at)
        log.timeAt(at) match {
          case None => assert(known.isTimeless, clue)
          case Some(time) if time > Now => assert(known.isAhead(Now) || isLevel || isHole, clue)
          case Some(time) =>
            val isPrecise = found.exists(time - _ <= math.max(1L, driftMs / 16))
            assert(found.exists(_ <= time) && (isLevel || isPrecise || isHole), s"$clue, true $time")
        }
      }
    }
  }

  test("a partition that is level needs one question, one at the beginning of its log two") {
    val level = TimedLog().append(Now - 5).append(Now - 3)
    assert(search(level, 1, 10)._2 == 1)
    val old = TimedLog().append(100).append(200).append(300)
    val (known, rounds) = search(old, 0, 10)
    assert(rounds == 2 && known.time(Now).contains(100L))
  }

  test("a log without times has no time, and one with the first record in the future counts as found now") {
    assert(search(TimedLog().append(-1).append(-1), 0, 10)._1.isTimeless)
    val (ahead, _) = search(TimedLog().append(Now + 50).append(500), 0, 10)
    assert(ahead.isAhead(Now) && ahead.time(Now).contains(Now))
    val (passed, _) = search(TimedLog().append(Now + 50).append(500), 1, 10)
    assert(passed.isAhead(Now) && passed.time(Now).isEmpty)
    assert(passed.reported(ReadTime(0, 400, 400)).time(Now).contains(400L))
    val timeless = PartitionTimes(1, 2, 0).reported(ReadTime(0, -1, -1))
    assert(timeless.least.isEmpty && timeless.moved(2, 2).least.isEmpty)
  }

  test("only the oldest positions are searched") {
    val known = Map(
      key -> PartitionTimes(5, 9, 5, passed = Some(500000)),
      LogKey("b", "t", 0) -> PartitionTimes(
        5,
        9,
        5,
        passed = Some(100),
        answers =
          Vector(TimeAnswer(99, 5, Some(101), Now))
      )
    )
    assert(TimeSearch.questions(known, known.values, Now, 10) == Map.empty)
  }

  test("answers are about the log as it is: one that contradicts others replaces them") {
    val known = PartitionTimes(5, 9, 5).answered(TimeAnswer(100, 5, Some(150), Now))
    assert(known.time(Now).contains(150L))
    // The log was truncated: there is an earlier record of this time now.
    val other = known.answered(TimeAnswer(120, 4, Some(170), Now))
    assert(other.answers.isEmpty && other.time(Now).contains(170L))
    // There is another record at this offset.
    assert(known.answered(TimeAnswer(120, 5, Some(170), Now)).time(Now).contains(170L))
  }
}
