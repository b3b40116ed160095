package io.github.dynamickafka.source.trigger

import scala.util.Using

import io.github.dynamickafka.source.{Entry, Queries, ScriptedRun}

/** How often clusters are asked for the times of records. */
class AlignedRequestsSuite extends Queries {
  private val Triggers = 30
  private val Partitions = 8

  test(
    "aligned clusters that are level are asked in one request for all partitions, and not in each trigger"
  ) {
    spark.version
    Using.resource(new ScriptedRun("alignment" -> "timestamp", "alignmentMaxDrift" -> "1h")) { r =>
      val partitions = (0 until Partitions).map("t" -> _)
      val now = System.currentTimeMillis()
      r.kafka.leaders = partitions.map(_ -> Option(1)).toMap
      r.kafka.byTime = partitions.map(_ -> 0L).toMap
      r.kafka.times = partitions.map(_ -> now).toMap
      r.kafka.ends = partitions.map(_ -> 10L).toMap
      r.service.streams =
        Map("orders" -> Seq(Entry.at("blue", "b:1", "t"), Entry.at("green", "g:1", "t")))
      val begin = r.begin()
      val end = (1 to Triggers).foldLeft(begin) { (start, i) =>
        r.kafka.ends = partitions.map(_ -> (10L + i)).toMap
        r.next(start)
      }
      Seq("blue", "green").foreach(id =>
        assert(end.position(id).of("t").values.toSeq == Seq.fill(Partitions)(10L + Triggers))
      )
      // One for alignment; lag and drift in time ask again once a second at most, because no task reports what it has read.
      val seconds = (System.currentTimeMillis() - now) / 1000
      assert(r.kafka.timeRequests.get <= 2 * (1 + 1 + seconds))
      assert(r.kafka.timeRequests.get >= 2)
    }
  }
}
