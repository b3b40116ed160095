package io.github.dynamickafka.sink

import java.util.UUID

import org.apache.spark.sql.DataFrame

import io.github.dynamickafka.source.{Entry, Queries, Target}
import io.github.dynamickafka.testkit.TestAll

/** Transactional ids, which brokers keep for days: those of a run that has ended are used by the next one. */
class ReusedIdsSuite extends Queries {
  private val Starts = 10

  // One that a start does not get yet because the files of the run before are not written, and a few more.
  private val MostSlots = 4

  /** More than there are slots, so that ids have to be used again. */
  private val Later = 7

  /** A stream on two clusters, with transactional ids of its own. */
  private final class Written(t: Target) {
    private val prefix = s"ids-${UUID.randomUUID().toString.take(8)}"
    private val topic = newTopicOn(2, blue, green)
    private val clusters = Seq("blue" -> blue, "green" -> green)
    t.out(clusters.map { case (id, cluster) => Entry(id, cluster, topic) }: _*)

    val options: Seq[(String, String)] =
      Seq("deliveryGuarantee" -> "exactly-once", "transactionalIdPrefix" -> prefix, "clusterRouting" -> "all")

    def all: Seq[Seq[Int]] = clusters.map { case (_, cluster) => values(cluster, topic).map(_.toInt).sorted }

    /** The transactional ids of records on a cluster. */
    private def ids(id: String): Set[String] =
      clusters.toMap.apply(id).transactions().keySet.filter(k => k.startsWith(prefix) && k.contains(s"-$id-"))

    /** What the ids begin with that the same run has made. */
    def slots: Set[String] = clusters.map(_._1).flatMap(id => ids(id).map(_.split(s"-$id-").head)).toSet
  }

  private def query(body: (Target, Written, Range => Unit, () => DataFrame) => Unit): Unit = target { t =>
    scene { s =>
      val from = newTopicOn(2, blue)
      s.orders(Entry("blue", blue, from))
      body(
        t,
        new Written(t),
        numbers => produce(blue, from, 2, numbers.map(_.toString)),
        () => s.frame().select("key", "value")
      )
    }
  }

  test("ten starts of a query use the ids of a few, and all rows are written once", TestAll) {
    query { (t, out, input, frame) =>
      (0 until Starts).foreach { start =>
        input(start * 10 until (start + 1) * 10)
        t.catchUp(frame(), out.options: _*)
      }
      assert(out.all.forall(_ == (0 until Starts * 10)))
      assert(out.slots.nonEmpty && out.slots.size <= MostSlots, out.slots)
    }
  }

  test(
    "the ids of a query that has died with a decision are not used again, and the decision is committed",
    TestAll
  ) {
    query { (t, out, input, frame) =>
      input(0 until 10)
      dying("decided")(t.start(frame(), out.options: _*))
      val died = out.slots
      assert(died.size == 1 && out.all.forall(_.isEmpty))
      (1 until Later).foreach { start =>
        input(start * 10 until (start + 1) * 10)
        t.catchUp(frame(), out.options: _*)
        assert(out.all.forall(_ == (0 until (start + 1) * 10)))
      }
      assert((out.slots -- died).nonEmpty && out.slots.size <= MostSlots, out.slots)
    }
  }
}
