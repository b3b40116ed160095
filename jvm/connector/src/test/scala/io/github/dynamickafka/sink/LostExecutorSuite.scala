package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration
import org.apache.spark.scheduler.{SparkListenerEvent, SparkListenerExecutorRemoved}

import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.source.{Entry, Queries}

/** What Spark says about executors reaches the query that writes. */
class LostExecutorSuite extends Queries {

  /** Tells all listeners of Spark, as its scheduler does. */
  private def tell(event: SparkListenerEvent): Unit = {
    val bus = classOf[org.apache.spark.SparkContext].getMethod("listenerBus").invoke(spark.sparkContext)
    bus.getClass.getMethod("post", classOf[SparkListenerEvent]).invoke(bus, event)
    val _ = bus.getClass.getMethod("waitUntilEmpty").invoke(bus)
  }

  test("after a batch during which an executor was lost, tasks use other transactional ids") {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, blue))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic))
        val query = t.start(s.frame().select("key", "value"), "deliveryGuarantee" -> "exactly-once")
        (0 to 3).foreach { batch =>
          produce(blue, from, 1, Seq(s"$batch"))
          settle(query)
          if (batch == 0) tell(SparkListenerExecutorRemoved(0L, "lost", "killed"))
        }
        val journal = new Journal(t.checkpoint.toString, new Configuration)
        // The set is followed by the parity of the batch, the task and its attempt.
        val sets = (0L to 3L).map(journal.rounds(_).flatMap(_.transactions).map(
          _.transactionalId.split('-').takeRight(3).head.takeWhile(_ != '.')
        ))
        assert(sets == Seq("0", "0", "1", "1").map(Seq(_)))
        assert(values(blue, topic) == (0 to 3).map(_.toString))
      }
    }
  }
}
