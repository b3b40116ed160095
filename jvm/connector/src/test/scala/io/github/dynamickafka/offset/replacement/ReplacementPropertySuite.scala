package io.github.dynamickafka.offset.replacement

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.{ClusterView, Continuation, Positions, ReplacedCluster}
import io.github.dynamickafka.testkit.TimeLimit

/** Where a query continues in random copies of random logs. */
class ReplacementPropertySuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  private val OverlapMs = 20L

  /** A record of the former log; those of the new one may have other offsets. */
  private case class Copied(value: Int, time: Long, offset: Long)

  /**
   * @param read how many records of the former log were read
   * @param log the new log: first offset, records in their order
   */
  private case class Scene(former: Vector[Copied], read: Int, first: Long, log: Vector[Copied]) {
    def end: Long = log.lastOption.fold(first)(_.offset + 1)
    def position: Long = if (read == 0) 0L else former(read - 1).offset + 1

    /** @param partitions of the new cluster, which all have this log */
    def replacement(keeps: Boolean = true, partitions: Int = 1): Replacement = {
      val all = (0 until partitions).map(p => ("t", p))
      val last = Option.when(keeps && read > 0)(LastRecord(former(read - 1).offset, former(read - 1).time))
      Replacement(
        ReplacedCluster("a", "K", "L"),
        "a",
        Positions.from(Seq(("t", 0, position))),
        Map(("t", 0) -> ReadUpTo(position, 100000L, last)),
        Set("t"),
        ClusterView.Reachable(
          Positions.from(all.map { case (t, p) => (t, p, end) }),
          Positions.from(all.map { case (t, p) => (t, p, first) })
        )
      )
    }

    def firstAt(time: Long): Option[Long] = log.find(_.time >= time).map(_.offset)

    def byTime(of: Replacement): Continuation = {
      val bounds = ByTime.bounds(of, OverlapMs)
      def found(times: Map[(String, Int), Long]) =
        times.flatMap { case (key, time) => firstAt(time).map(key -> _) }
      ByTime.continuation(of, bounds, found(bounds.from), found(bounds.until))
    }

    /** The offset of the first record in the new log that has not been read. */
    def firstUnread: Option[Long] = log.find(_.value >= read).map(_.offset)

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

  /** Times that grow, but for a disorder of less than the overlap. */
  private val logs: Gen[Vector[Copied]] = for {
    steps <- Gen.listOf(Gen.choose(0L, 9L))
    disorder <- Gen.listOfN(steps.size, Gen.choose(0L, OverlapMs))
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

  test("timestamp: no unread record is below the position, and the last ones that were read are repeated") {
    forAll(copies) { scene =>
      val of = scene.replacement()
      val found = scene.byTime(of)
      val at = found.positions.get("t", 0).get
      assert(at <= scene.firstUnread.getOrElse(scene.end) && at >= scene.first && found.notes.isEmpty)
      assert(found.repeated >= 0 && found.repeated <= scene.end - at)
    }
  }

  test("timestamp with another number of partitions: the least time of the topic, and a note") {
    forAll(copies.filter(_.read > 0)) { scene =>
      val found = scene.byTime(scene.replacement(partitions = 3))
      assert(found.positions.of("t").keySet == Set(0, 1, 2) && found.positions.of("t").values.toSet.size == 1)
      assert(found.notes.exists(_.contains("3 partitions instead of 1")))
    }
  }

  test("group-offsets: never beyond timestamp, never below the log, at the group's offset between them") {
    forAll(copies, Gen.option(Gen.choose(0L, 1200L))) { (scene, committed) =>
      val of = scene.replacement()
      val timed = scene.byTime(of)
      val found = GroupOffsets.continuation(of, timed, committed.map(("t", 0) -> _).toMap)
      val (at, limit) = (found.positions.get("t", 0).get, timed.positions.get("t", 0).get)
      assert(at <= scene.firstUnread.getOrElse(scene.end) && at <= limit && at >= scene.first)
      committed.filter(c => c >= scene.first && c <= limit).foreach(c => assert(at == c))
      assert(found.notes.exists(_.contains("t-0")) == committed.isEmpty)
      assert(found.repeated >= timed.repeated)
    }
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
