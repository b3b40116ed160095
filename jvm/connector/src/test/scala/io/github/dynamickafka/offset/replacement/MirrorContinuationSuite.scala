package io.github.dynamickafka.offset.replacement

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.connect.mirror.{Checkpoint, CheckpointBytes}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.MirroredTopics
import io.github.dynamickafka.offset.{ClusterView, Continuation, Positions, ReplacedCluster}

/** Where a query continues by checkpoints, and by which names. */
class MirrorContinuationSuite extends AnyFunSuite {
  private val identity = MirroredTopics.Standard(identity = true)
  private val prefixed = MirroredTopics.Standard(identity = false)

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  private def mirror(names: MirroredTopics, known: Positions, topics: Set[String], ends: Positions) = {
    val view = ClusterView.Reachable(
      ends,
      earliest = Positions.from(ends.iterator.map { case (t, p, _) => (t, p, 5L) }),
      missing = topics -- ends.topics
    )
    val of = Replacement(ReplacedCluster("id", "k1", "k2"), "blue", known, Map.empty, 0L, topics, view)
    new MirrorContinuation(of, "g", "blue", names)
  }

  private def answer(mirror: MirrorContinuation, checkpoints: (String, Int, Long, Long)*) =
    mirror.question.flatMap { question =>
      mirror.continuation(checkpoints.foldLeft(question) { case (all, (topic, p, upstream, downstream)) =>
        val written = new Checkpoint("g", new TopicPartition(topic, p), upstream, downstream, "")
        all.add(CheckpointBytes.key(written), CheckpointBytes.value(written))
      })
    }

  test("positions are those of the newest checkpoints; what lies between is counted as repeated") {
    val known = positions(("orders", 0, 100L), ("orders", 1, 50L))
    val same = mirror(identity, known, Set("orders"), positions(("orders", 0, 300L), ("orders", 1, 300L)))
    assert(answer(same, ("orders", 0, 90, 190), ("orders", 1, 50, 150)) ==
      Right(Continuation(positions(("orders", 0, 190L), ("orders", 1, 150L)), repeated = 10)))
  }

  test("topics that MirrorMaker renames continue under their new names, beside topics of the new cluster") {
    val known = positions(("orders", 0, 100L))
    val ends = positions(("blue.orders", 0, 300L), ("orders", 0, 7L))
    val renamed = mirror(prefixed, known, Set("blue.orders", "orders"), ends)
    assert(renamed.checkpoints == "blue.checkpoints.internal")
    assert(answer(renamed, ("blue.orders", 0, 100, 200), ("orders", 0, 3, 3)) ==
      Right(Continuation(positions(("blue.orders", 0, 200L)), from = Set("orders"))))
  }

  test(
    "metadata that lack the copy, and the way back to where a topic was copied from, are refused by name"
  ) {
    def reason(known: String, topics: String*) =
      answer(mirror(prefixed, positions((known, 0, 1L)), topics.toSet, Positions.empty)).swap.toOption.get
    assert(reason("orders", "orders").contains("'blue.orders'"))
    assert(reason("green.orders", "orders").contains("does not translate"))
  }

  test("a topic that is no longer read is named in the log") {
    val known = positions(("orders", 0, 100L), ("payments", 0, 3L))
    val rest = mirror(identity, known, Set("orders"), positions(("orders", 0, 300L)))
    val found = answer(rest, ("orders", 0, 100, 200)).toOption.get
    assert(found.positions == positions(("orders", 0, 200L)) && found.notes.exists(_.contains("'payments'")))
  }

  test("a topic that the new cluster does not have yet holds up no other one") {
    val known = positions(("orders", 0, 100L), ("payments", 0, 3L))
    for (names <- Seq(identity, prefixed)) {
      val there = names.mirrored("blue", "orders")
      val topics = Set(there, names.mirrored("blue", "payments"))
      val found =
        answer(mirror(names, known, topics, positions((there, 0, 300L))), (there, 0, 100, 200)).toOption.get
      assert(found.positions == positions((there, 0, 200L)) && found.notes.isEmpty)
    }
  }

  test("a partition without a checkpoint, of a group that is ahead, or beyond the new log: never a guess") {
    val known = positions(("orders", 0, 100L))
    val same = mirror(identity, known, Set("orders"), positions(("orders", 0, 300L)))
    def reason(checkpoints: (String, Int, Long, Long)*) = answer(same, checkpoints: _*).swap.toOption.get
    assert(reason().contains("no checkpoint of group 'g'") && reason().contains("up to 100"))
    assert(reason(("orders", 0, 101, 201)).contains("ahead of the query"))
    assert(reason(("orders", 0, 90, 301)).contains("the latest offset is 300"))
    assert(reason(("orders", 0, 90, 4)).contains("the earliest available offset is 5"))
  }

  test("a partition of which nothing was read needs no checkpoint, and is read from its beginning") {
    val known = positions(("orders", 0, 100L), ("orders", 1, 0L))
    val same = mirror(identity, known, Set("orders"), positions(("orders", 0, 300L), ("orders", 1, 5L)))
    assert(answer(same, ("orders", 0, 100, 200)).map(_.positions) == Right(positions(("orders", 0, 200L))))
  }
}
