package io.github.dynamickafka.offset.replacement

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.connect.mirror.{Checkpoint, CheckpointBytes}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.Positions

/** Which checkpoint holds for a position. */
class MirrorTranslationSuite extends AnyFunSuite with ScalaCheckPropertyChecks {
  private val position = 100L
  private val start = MirrorTranslation("g", Positions.from(Seq(("orders", 0, position), ("orders", 1, 7L))))

  private def written(upstream: Long, downstream: Long, group: String = "g", topic: String = "orders") = {
    val made = new Checkpoint(group, new TopicPartition(topic, 0), upstream, downstream, "")
    (CheckpointBytes.key(made), CheckpointBytes.value(made))
  }

  private def read(records: (Array[Byte], Array[Byte])*) =
    records.foldLeft(start) { case (all, (key, value)) => all.add(key, value) }

  private def at(translation: MirrorTranslation) = translation.found.get(("orders", 0)).map(_.downstream)

  test("the newest checkpoint at or before the position holds, also where the group is ahead or went back") {
    assert(at(read(written(50, 150), written(90, 190), written(120, 220))).contains(190L))
    assert(at(read(written(90, 190), written(100, 200))).contains(200L))
    assert(at(read(written(90, 190), written(60, 160))).contains(160L), "the newest, not the largest")
  }

  test("a group that is ahead of the position has none, and is named") {
    val translation = read(written(101, 201))
    assert(at(translation).isEmpty)
    assert(translation.ahead(("orders", 0)) == MirrorCheckpoint("orders", 0, 101, 201))
    assert(read().found.isEmpty && read().ahead.isEmpty)
  }

  test("checkpoints of other groups and topics do not count, nor those that were deleted") {
    assert(read(written(50, 150, group = "h"), written(50, 150, topic = "payments")).found.isEmpty)
    val (key, _) = written(50, 150)
    assert(read(written(50, 150), (key, null)).found.isEmpty)
  }

  /**
   * A source and a target whose offsets differ: each source record has an offset, with gaps of expired and aborted ones, and is on the
   * target later, with others in between. MirrorMaker translates offsets of the group as `OffsetSyncStore` does, at any time.
   */
  test("whatever the group does, no record from the position on is before the translated one") {
    val histories = for {
      sourceGaps <- Gen.listOfN(40, Gen.choose(1L, 3L))
      targetGaps <- Gen.listOfN(40, Gen.choose(1L, 4L))
      commits <- Gen.listOf(Gen.zip(Gen.choose(0L, 120L), Gen.choose(0, 39)))
      position <- Gen.choose(0L, 120L)
    } yield (sourceGaps, targetGaps, commits, position)
    forAll(histories) { case (sourceGaps, targetGaps, commits, position) =>
      val pairs = sourceGaps.scanLeft(0L)(_ + _).tail.zip(targetGaps.scanLeft(5L)(_ + _).tail)
      val records = commits.flatMap { case (upstream, known) =>
        pairs.take(known + 1).findLast(_._1 <= upstream).map { case (syncUp, syncDown) =>
          written(upstream, if (syncUp == upstream) syncDown else syncDown + 1)
        }
      }
      val begin = MirrorTranslation("g", Positions.from(Seq(("orders", 0, position))))
      val translation = records.foldLeft(begin) { case (all, (key, value)) => all.add(key, value) }
      at(translation).foreach { from =>
        pairs.filter(_._1 >= position).foreach { case (_, there) => assert(there >= from) }
      }
      assert(at(translation).isDefined == commits.exists { case (upstream, _) =>
        upstream <= position && pairs.head._1 <= upstream
      })
    }
  }
}
