package io.github.dynamickafka.sink

import io.github.dynamickafka.source.{Entry, Queries}

/** `writeFailover=next` with a broker that is frozen, and one that is killed. */
class FailoverSuite extends Queries {
  private val Next =
    Seq("writeFailover" -> "next", "clusterRequestTimeoutMs" -> "2000", "kafka.max.block.ms" -> "4000")

  test(
    "exactly-once: a batch is written without a frozen cluster, named in the progress, which later batches use again"
  ) {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(2, blue), newTopicOn(2, green, red))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("green", green, topic), Entry("red", red, topic))
        val query =
          t.start(s.frame().select("key", "value"), Next :+ ("deliveryGuarantee" -> "exactly-once"): _*)
        def batch(numbers: Range): String = {
          produce(blue, from, 2, numbers.map(_.toString))
          settle(query)
          query.recentProgress.filter(_.numInputRows > 0).last.sink.metrics.get("leftOutClusters")
        }
        assert(batch(0 until 40) == "")
        frozen(red) {
          assert(batch(40 until 80) == "red")
          assert(committed(green, topic).map(_.value.toInt).filter(_ >= 40).sorted == (40 until 80))
        }
        // With other properties it is asked at once, which otherwise takes half a minute.
        t.change(Entry("green", green, topic), Entry("red", red, topic).and("retry.backoff.ms", "101"))
        assert(batch(80 until 120) == "")
        val (onGreen, onRed) = (values(green, topic), values(red, topic))
        assert((onGreen ++ onRed).map(_.toInt).sorted == (0 until 120))
        def atRed(numbers: Range) = onRed.map(_.toInt).count(numbers.contains)
        assert(atRed(0 until 40) > 0 && atRed(40 until 80) == 0 && atRed(80 until 120) > 0)
      }
    }
  }

  test(
    "first: the next cluster gets the records of a dead one; rows that name it fail; without the option all do"
  ) {
    target { t =>
      val topic = newTopicOn(1, blue)
      val dead = Entry("dead", Map("bootstrap.servers" -> "127.0.0.1:1"), Seq(topic))
      t.out(dead, Entry("blue", blue, topic))
      val first = Next :+ ("clusterRouting" -> "first")
      t.save(rows(0, 10), first: _*)
      assert(values(blue, topic) == (0 until 10).map(_.toString))
      val named = rows(10, 20).selectExpr("key", "value", "'dead' as cluster")
      Seq(
        named -> first,
        rows(20, 30) -> (first :+ ("writeFailover" -> "none"))
      ).foreach { case (frame, options) =>
        val e = intercept[Exception](t.save(frame, options: _*))
        assert(
          Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null)
            .exists(c => String.valueOf(c.getMessage).contains("WRITE_FAILED")),
          e
        )
      }
      assert(values(blue, topic) == (0 until 10).map(_.toString))
    }
  }
}
