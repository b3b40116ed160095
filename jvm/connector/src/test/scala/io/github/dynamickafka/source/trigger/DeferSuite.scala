package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query, Results}
import io.github.dynamickafka.testkit.TestAll

/** `unreachableReplayPolicy=defer`: a batch that is logged, and one of whose clusters is unreachable after a restart. */
class DeferSuite extends Queries {

  private val deferring = Seq(
    "unreachableReplayPolicy" -> "defer",
    "clusterFailurePolicy" -> "skip",
    "clusterRequestTimeoutMs" -> "4000"
  )

  /** Green and red with two finished batches, of which the second one is not committed, and more records. */
  private def interrupted(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, green, red)
    s.orders(Entry("green", green, topic), Entry("red", red, topic))
    for (prefix <- Seq("a", "b")) {
      Seq(green, red).foreach(produce(_, topic, 2, values(prefix, 4)))
      s.catchUp()
    }
    s.uncommit()
    produce(green, topic, 2, values("c", 4))
    body(s, topic)
    ()
  }

  private def deferred(s: Query): Seq[String] =
    Option(s.checkpoint.resolve("sources/0/dynamic-kafka/deferred").toFile.list).toSeq.flatten
      .filterNot(_.startsWith("."))

  test(
    "the other cluster's records are read at once, and the deferred ones exactly once when the cluster returns"
  ) {
    interrupted { (s, topic) =>
      val later = new Results(s.checkpoint)
      def since(prefixes: String*) = (stored("green", green, topic) ++ stored("red", red, topic))
        .filter(seen => prefixes.exists(seen.value.startsWith))
      def run() = later.start(s.frame(deferring: _*), Trigger.ProcessingTime(0L))
      killed(red) {
        val query = run()
        try {
          eventually(assert(later.seen.size == 8))
          assertSame(later.seen, stored("green", green, topic).filterNot(_.value.startsWith("a")))
          eventually(assert(s.metrics(query)("deferredRecords") == "4"))
          eventually(assert(s.metrics(query)("unreachableClusters") == "1"))
          assert(deferred(s).contains("1.json"))
        } finally query.stop()
        // The position of red is in the offset log from now on.
        assert(s.logged.position("red").iterator.map(_._3).toSeq == Seq(2L, 2L))
        val again = run()
        try {
          produce(green, topic, 2, values("d", 2))
          eventually(assert(later.seen.size == 10))
          eventually(assert(s.metrics(again)("deferredRecords") == "4"))
        } finally again.stop()
      }
      produce(red, topic, 2, values("e", 2))
      val query = run()
      try {
        eventually(assert(later.seen.size == 16))
        settle(query)
        assertSame(later.seen, since("b", "c", "d", "e"))
        produce(green, topic, 2, values("f", 2))
        settle(query)
        eventually(assert(s.metrics(query)("deferredRecords") == "0"))
        assert(deferred(s).isEmpty)
      } finally query.stop()
    }
  }

  test(
    "a batch that is planned again has the same deferral, whatever its clusters and the policy are then",
    TestAll
  ) {
    interrupted { (s, topic) =>
      val later = new Results(s.checkpoint)
      def catchUp(options: (String, String)*) =
        assert(later.start(s.frame(options: _*), Trigger.AvailableNow()).awaitTermination(300000))
      killed(red) {
        val hold = later.hold()
        val query = later.start(s.frame(deferring: _*))
        hold.await()
        query.stop()
        later.inBatch = _ => ()
      }
      assert(later.batch(1).map(_.cluster).toSet == Set("green"))
      catchUp("unreachableReplayPolicy" -> "fail")
      assert(later.repeated == Set(1L))
      assertSame(
        later.seen,
        (stored("green", green, topic) ++ stored("red", red, topic)).filterNot(_.value.startsWith("a"))
      )
    }
  }

  test("a query with state fails and names the option, and continues with it", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      Seq(green, red).foreach(produce(_, topic, 1, values("a", 3)))
      @volatile var counts = Map.empty[String, Long]
      def start(options: (String, String)*) =
        s.frame(options: _*).groupBy("cluster").count().writeStream.outputMode("complete")
          .foreachBatch { (rows: DataFrame, _: Long) =>
            counts = rows.collect().map(row => row.getString(0) -> row.getLong(1)).toMap
          }
          .option("checkpointLocation", s.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      assert(start().awaitTermination(300000))
      s.uncommit()
      killed(red) {
        val e = refused(start(deferring: _*))
        assert(condition(e) == "UNREACHABLE_REPLAY" && text(e).contains("'deferWithState'"), text(e))
        assert(deferred(s).isEmpty)
        assert(start(deferring :+ ("deferWithState" -> "true"): _*).awaitTermination(300000))
        assert(counts == Map("green" -> 3L))
      }
      assert(start(deferring :+ ("deferWithState" -> "true"): _*).awaitTermination(300000))
      assert(counts == Map("green" -> 3L, "red" -> 3L))
    }
  }
}
