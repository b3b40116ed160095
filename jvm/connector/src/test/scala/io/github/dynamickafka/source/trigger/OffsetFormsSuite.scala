package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.functions.col
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query, Seen}
import io.github.dynamickafka.testkit.{Record, TestAll}

/**
 * Each form of starting and ending offsets, with each kind of trigger, on two clusters: for the whole query,
 * and for one cluster by its option and for the other one in the metadata.
 *
 * All tests read one topic, which is on both clusters and does not change: two partitions of ten records, whose
 * n-th record has the timestamp `time(n)`.
 */
class OffsetFormsSuite extends Queries {
  import OffsetFormsSuite._

  private val Records = 10
  private def time(n: Int) = 1700000000000L + n * 1000L

  private lazy val topic: String = {
    val name = newTopicOn(2, blue, green)
    for (cluster <- Seq(blue, green); p <- 0 to 1)
      cluster.produce(
        name,
        (0 until Records).map(n => Record(p, None, s"$p-$n", timestamp = Some(time(n))))
      )
    // On green the group has no committed offset for partition 1.
    blue.commitOffsets(name, name, Map(0 -> 2L, 1 -> 7L))
    green.commitOffsets(name, name, Map(0 -> 4L))
    name
  }

  private def json(b0: Any, b1: Any, g0: Any, g1: Any) =
    s"""{"blue": {"$topic": {"0": $b0, "1": $b1}}, "green": {"$topic": {"0": $g0, "1": $g1}}}"""
  private def of(p0: Any, p1: Any) = s"""{"$topic": {"0": $p0, "1": $p1}}"""

  private def forms(side: Side): Seq[Form] = {
    val (offsets, s) = (s"${side.name}Offsets", side.name)
    val group = Seq("commitGroupId" -> topic, "committedOffsetsFallback" -> "latest")
    val earliest = Form("earliest", Seq(offsets -> "earliest"), "earliest", (0, 0, 0, 0))
    Seq(
      Form("latest", Seq(offsets -> "latest"), "latest", (10, 10, 10, 10)),
      Form("committed with a fallback", Seq(offsets -> "committed") ++ group, "committed", (2, 7, 4, 10)),
      Form(
        "one timestamp",
        Seq(s"${s}Timestamp" -> (time(3) - 1).toString),
        s"timestamp:${time(3) - 1}",
        (3, 3, 3, 3)
      ),
      Form(
        "timestamps by partition",
        Seq(s"${s}OffsetsByTimestamp" -> json(time(1), time(2), time(3), time(4))),
        s"timestamp:${of(time(5), time(6))}",
        (1, 2, 3, 4)
      ),
      Form("exact offsets", Seq(offsets -> json(5, 6, 7, -1)), of(5, 6), (5, 6, 7, 10))
    ) ++ Option.when(side == Starting)(earliest)
  }

  /** The offsets of the form when each cluster has it as its own. */
  private def own(form: Form): Four = form.name match {
    case "timestamps by partition" | "exact offsets" => (5, 6, 5, 6)
    case _ => form.at
  }

  private def expected(side: Side, at: Four): Seq[Seen] = {
    val bounds = Map(("blue", 0) -> at._1, ("blue", 1) -> at._2, ("green", 0) -> at._3, ("green", 1) -> at._4)
    storedOnBoth(topic).filter { r =>
      val bound = bounds(r.cluster -> r.partition).toLong
      if (side == Starting) r.offset >= bound else r.offset < bound
    }
  }

  private val triggers: Seq[(String, (Query, Seq[(String, String)]) => Seq[Seen])] = Seq(
    "ProcessingTime" -> { (s, options) =>
      val query = s.start(Trigger.ProcessingTime(0L), options: _*)
      settle(query)
      assert(query.isActive)
      s.seen
    },
    "AvailableNow" -> { (s, options) =>
      s.catchUp(options: _*)
      s.seen
    },
    "spark.read" -> { (s, options) =>
      s.batch(options: _*).select(
        col("cluster"),
        col("topic"),
        col("partition"),
        col("offset"),
        col("value").cast("string"),
        col("stream")
      ).collect().toSeq.map(r =>
        Seen(r.getString(0), r.getString(1), r.getInt(2), r.getLong(3), r.getString(4), r.getString(5))
      )
    }
  )

  private val names = Seq(
    "latest",
    "committed with a fallback",
    "one timestamp",
    "timestamps by partition",
    "exact offsets"
  )

  /** Each form, side and trigger at least once; the other combinations add nothing new. */
  private val always = Set(
    (Starting, "earliest", "ProcessingTime"),
    (Starting, "committed with a fallback", "AvailableNow"),
    (Starting, "exact offsets", "spark.read"),
    (Ending, "latest", "ProcessingTime"),
    (Ending, "one timestamp", "AvailableNow"),
    (Ending, "timestamps by partition", "spark.read")
  )

  for {
    side <- Seq(Starting, Ending)
    name <- (if (side == Starting) Seq("earliest") else Nil) ++ names
    (trigger, read) <- triggers
    tags = if (always((side, name, trigger))) Nil else Seq(TestAll)
  } test(s"${side.name}, $name, $trigger: for the query, and for each cluster", tags: _*) {
    val form = forms(side).find(_.name == name).get
    val (one, other) = (Entry("blue", blue, topic), Entry("green", green, topic))
    scene { s =>
      s.orders(one, other)
      assertSame(read(s, form.query), expected(side, form.at))
    }
    // The setting for the whole query must have no effect.
    val unlike = if (side == Starting) "startingOffsets" -> of2(9) else "endingOffsets" -> of2(1)
    val group = form.query.filter { case (k, _) => k.startsWith("commit") }
    scene { s =>
      s.orders(one, if (side == Starting) other.startingAt(form.own) else other.stoppingAt(form.own))
      val options = Seq(unlike, s"cluster.blue.${side.name}Offsets" -> form.own) ++ group
      assertSame(read(s, options), expected(side, own(form)))
    }
  }

  private def of2(at: Int) = json(at, at, at, at)

  test("the timestamp options are available for one cluster") {
    scene { s =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp(
        "cluster.blue.startingTimestamp" -> time(4).toString,
        "cluster.blue.endingOffsetsByTimestamp" -> of(time(6), time(5)),
        "cluster.green.startingOffsetsByTimestamp" -> of(time(8), time(9)),
        "cluster.green.endingTimestamp" -> time(9).toString
      )
      val offsets = s.seen.map(r => (r.cluster, r.partition, r.offset)).toSet
      assert(offsets == Set(("blue", 0, 4L), ("blue", 0, 5L), ("blue", 1, 4L), ("green", 0, 8L)))
    }
  }
}

object OffsetFormsSuite {
  sealed trait Side { def name: String }
  case object Starting extends Side { val name = "starting" }
  case object Ending extends Side { val name = "ending" }

  /** Offsets of partitions 0 and 1 of blue, then of green. */
  type Four = (Int, Int, Int, Int)

  /**
   * @param query options for the whole query
   * @param own the form for one cluster: for blue by its option, for green in the metadata
   * @param at the offsets that it resolves to
   */
  final case class Form(name: String, query: Seq[(String, String)], own: String, at: Four)
}
