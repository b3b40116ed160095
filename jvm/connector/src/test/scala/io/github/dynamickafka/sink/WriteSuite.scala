package io.github.dynamickafka.sink

import io.github.dynamickafka.source.Entry

class WriteSuite extends SinkTest {
  private val guarantees = Seq("none", "at-least-once", "exactly-once")

  guarantees.foreach { guarantee =>
    test(s"$guarantee: a job writes each record once, and equal keys to the same cluster") {
      target { t =>
        val topic = newTopicOn(3, blue, green)
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        t.save(rows(0, 100), "deliveryGuarantee" -> guarantee)
        t.save(rows(100, 200), "deliveryGuarantee" -> guarantee)
        eventually(assert(
          (values(blue, topic) ++ values(green, topic)).sorted == (0 until 200).map(_.toString).sorted
        ))
        val keys = Seq(blue, green).map(committed(_, topic).flatMap(_.key).toSet)
        assert(keys.forall(_.nonEmpty) && keys.head.intersect(keys(1)).isEmpty)
      }
    }

    test(s"$guarantee: a query writes each record once") {
      target { t =>
        scene { s =>
          val from = newTopicOn(2, blue)
          val topic = newTopicOn(3, blue, green)
          s.orders(Entry("blue", blue, from))
          t.out(Entry("blue", blue, topic), Entry("green", green, topic))
          produce(blue, from, 2, (0 until 50).map(_.toString))
          val query = t.start(s.frame().select("key", "value"), "deliveryGuarantee" -> guarantee)
          settle(query)
          produce(blue, from, 2, (50 until 100).map(_.toString))
          settle(query)
          assert(query.lastProgress.sink.description == "dynamic-kafka")
          eventually(assert(
            (values(blue, topic) ++ values(green, topic)).sorted == (0 until 100).map(_.toString).sorted
          ))
        }
      }
    }
  }
}
