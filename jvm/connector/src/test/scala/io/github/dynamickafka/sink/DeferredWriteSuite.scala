package io.github.dynamickafka.sink

import java.nio.file.Files

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Results}
import io.github.dynamickafka.testkit.TestAll

/** Deferred records and this project's sink with `exactly-once`. */
class DeferredWriteSuite extends Queries {

  private val deferring = Seq(
    "unreachableReplayPolicy" -> "defer",
    "clusterFailurePolicy" -> "skip",
    "clusterRequestTimeoutMs" -> "4000"
  )

  test(
    "deferred records are written exactly once; a batch that the sink has decided is not deferred",
    TestAll
  ) {
    scene { s =>
      target { t =>
        val (topic, out) = (newTopicOn(2, green, red), newTopicOn(1, blue))
        s.orders(Entry("green", green, topic), Entry("red", red, topic))
        t.out(Entry("blue", blue, out))
        val checkpoint = new Results(t.checkpoint)
        def frame(options: (String, String)*) = s.frame(options: _*).select("key", "value")
        def copy(options: (String, String)*) =
          t.catchUp(frame(options: _*), "deliveryGuarantee" -> "exactly-once")
        def produced = (stored("green", green, topic) ++ stored("red", red, topic)).map(_.value).sorted
        Seq(green, red).foreach(produce(_, topic, 2, values("a", 4)))
        val _ = copy()
        Seq(green, red).foreach(produce(_, topic, 2, values("b", 4)))
        // Logged, and not written.
        val broken = frame().writeStream
          .foreachBatch((_: DataFrame, _: Long) => throw new IllegalStateException("sink"))
          .option("checkpointLocation", t.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
        eventually(assert(broken.exception.isDefined))
        killed(red) {
          val _ = copy(deferring: _*)
          assert(values(blue, out).size == 12)
        }
        val _ = copy(deferring: _*)
        assert(values(blue, out) == produced)
        // Decided and written, and Spark does not know it.
        checkpoint.uncommit()
        killed(red) {
          val e = refused(copy(deferring: _*))
          assert(condition(e) == "UNREACHABLE_REPLAY" && text(e).contains("decided"), text(e))
        }
        val _ = copy(deferring: _*)
        assert(values(blue, out) == produced)
      }
    }
  }

  test("a deferral that the source does not know when it plans the batch ends the query") {
    scene { s =>
      target { t =>
        val (topic, out) = (newTopicOn(1, green), newTopicOn(1, blue))
        s.orders(Entry("green", green, topic))
        t.out(Entry("blue", blue, out))
        produce(green, topic, 1, values("a", 2))
        val query = t.start(s.frame().select("key", "value"), "deliveryGuarantee" -> "exactly-once")
        query.processAllAvailable()
        assert(values(blue, out) == values("a", 2))
        // As another run does, which takes this one for dead.
        val batch = query.lastProgress.batchId + 1
        val deferred = Files.createDirectories(t.checkpoint.resolve("sources/0/dynamic-kafka/deferred"))
        Files.writeString(deferred.resolve(s"$batch.json"), "{}")
        produce(green, topic, 1, values("b", 2))
        val e = failure(query)
        assert(condition(e) == "JOURNAL_CONFLICT" && text(e).contains(s"deferred/$batch.json'"), text(e))
        assert(values(blue, out) == values("a", 2))
      }
    }
  }
}
