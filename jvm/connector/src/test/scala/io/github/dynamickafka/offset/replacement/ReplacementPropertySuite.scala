package io.github.dynamickafka.offset.replacement

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.{ClusterView, Continuation, Positions, ReplacedCluster}
import io.github.dynamickafka.source.trigger.ReplacedIds
import io.github.dynamickafka.testkit.TimeLimit

/** Where a query continues at the same offsets in random copies of random logs. */
class ReplacementPropertySuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  private val DisorderMs = 20L

  /** A record of the former log; those of the new one may have other offsets. */
  private case class Copied(value: Int, time: Long, offset: Long)

  /**
   * @param read how many records of the former log were read
   * @param log the new log: first offset, records in their order
   */
  private case class Scene(former: Vector[Copied], read: Int, first: Long, log: Vector[Copied]) {
    def end: Long = log.lastOption.fold(first)(_.offset + 1)
    def position: Long = if (read == 0) 0L else former(read - 1).offset + 1

    def replacement(keeps: Boolean = true): Replacement = {
      val last = Option.when(keeps && read > 0)(LastRecord(former(read - 1).offset, former(read - 1).time))
      Replacement(
        ReplacedCluster("a", "K", "L"),
        "a",
        Positions.from(Seq(("t", 0, position))),
        last.map(("t", 0) -> _).toMap,
        100000L,
        Set("t"),
        ClusterView.Reachable(Positions.from(Seq(("t", 0, end))), Positions.from(Seq(("t", 0, first))))
      )
    }

    def answers(of: Replacement): Either[String, Continuation] =
      SameOffsets.questions(of).flatMap { questions =>
        SameOffsets.continuation(
          of,
          questions.map { case (key, question) =>
            val record = log.find(_.offset == question.record)
            val next = log.find(_.offset >= question.position)
            def last(r: Copied) = LastRecord(r.offset, r.time)
            key -> SameOffsets.Answer(record.map(last), if (record.isEmpty) next.map(last) else None)
          }
        )
      }
  }

  /** Times that grow, but for a disorder. */
  private val logs: Gen[Vector[Copied]] = for {
    steps <- Gen.listOf(Gen.choose(0L, 9L))
    disorder <- Gen.listOfN(steps.size, Gen.choose(0L, DisorderMs))
  } yield steps.scanLeft(1000L)(_ + _).drop(1).zip(disorder).zipWithIndex.map { case ((time, late), i) =>
    Copied(i, time - late, i.toLong)
  }.toVector

  /** The new log has a copy of a part of the former one, at other offsets. */
  private val copies: Gen[Scene] = for {
    former <- logs
    read <- Gen.choose(0, former.size)
    expired <- Gen.choose(0, read)
    first <- Gen.choose(0L, 1000L)
  } yield {
    val log = former.drop(expired).zipWithIndex.map { case (r, i) => r.copy(offset = first + i) }
    Scene(former, read, first, log)
  }

  /** A byte for byte copy, of which old records and some others may be removed. */
  private val mirrors: Gen[Scene] = for {
    former <- logs
    read <- Gen.choose(0, former.size)
    expired <- Gen.choose(0, read)
    removed <- Gen.someOf(former.indices)
  } yield Scene(
    former,
    read,
    expired.toLong,
    former.drop(expired).filterNot(r => removed.contains(r.value) && r.value != former.size - 1)
  )

  test("same-offsets: a copy of the log continues at the same position") {
    forAll(mirrors.filter(s => s.end >= s.position)) { scene =>
      // Records may be removed only if those that follow are not older.
      whenever(scene.log.filter(_.value >= scene.read).forall(r =>
        scene.read == 0 || r.time >= scene.former(scene.read - 1).time
      )) {
        val of = scene.replacement()
        assert(scene.answers(of).map(_.positions) == Right(of.positions), scene)
      }
    }
  }

  /** The log is cut below the position and filled with later records. */
  private val refilled: Gen[Scene] = for {
    former <- logs.filter(_.nonEmpty)
    read <- Gen.choose(1, former.size)
    cut <- Gen.choose(0, read - 1)
    more <- Gen.listOf(Gen.choose(1L, 9L))
  } yield {
    val kept = former.take(cut)
    val since = former.map(_.time).max
    val others = more.scanLeft(since)(_ + _).drop(1).zipWithIndex.map { case (time, i) =>
      Copied(1000 + i, time, cut.toLong + i)
    }
    Scene(former, read, 0L, kept ++ others)
  }

  test("same-offsets: a log that was cut and filled again is refused") {
    forAll(refilled) { scene =>
      assert(scene.answers(scene.replacement()).isLeft, scene)
    }
  }

  test("same-offsets: the position has to be in the log") {
    forAll(copies) { scene =>
      val of = scene.replacement(keeps = false)
      val isInLog = scene.position >= scene.first && scene.position <= scene.end
      assert(SameOffsets.questions(of).isRight == isInLog)
    }
  }

  test("same-offsets without a known time: a record that is later than the batch is another one") {
    val former = Vector(Copied(0, 1000L, 0L))
    def at(time: Long) = Scene(former, 1, 0L, Vector(Copied(0, time, 0L)))
    def found(scene: Scene) = scene.answers(scene.replacement(keeps = false))
    assert(found(at(100000L)).isRight && found(at(300000L)).isLeft)
  }

  test("a change to and fro within a short time alternates; a failover and the way back do not") {
    val (there, back) = (ReplacedCluster("a", "K", "L"), ReplacedCluster("a", "L", "K"))
    val once = ReplacedIds.none.replaced(there, 0L)
    assert(!once.alternates(back, 1L))
    val both = once.replaced(back, 1000L)
    assert(both.alternates(there, 2000L) && !both.alternates(there.copy(cluster = "b"), 2000L))
    assert(!both.alternates(there, 3600000L))
  }
}
