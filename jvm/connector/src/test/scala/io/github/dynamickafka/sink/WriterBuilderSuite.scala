package io.github.dynamickafka.sink

import java.{util => ju}

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Target}
import io.github.dynamickafka.{DynamicKafka, DynamicKafkaWriterBuilder}

/** The API that Scala users call, on real brokers. */
class WriterBuilderSuite extends Queries {

  private def onTwoClusters[A](body: (Target, String) => A): A = target { t =>
    val topic = newTopicOn(2, blue, green)
    t.out(Entry("blue", blue, topic), Entry("green", green, topic))
    body(t, topic)
  }

  private def builder(t: Target, frame: DataFrame): DynamicKafkaWriterBuilder =
    DynamicKafka.writer(frame).setKafkaMetadataService(t.service).setStreamId("out")

  test("save() writes a batch DataFrame, to every cluster if so configured") {
    onTwoClusters { (t, topic) =>
      builder(t, rows(0, 20)).setClusterRouting("all").save()
      Seq(blue, green).foreach(c => assert(values(c, topic) == (0 until 20).map(_.toString).sorted))
    }
  }

  test("start(checkpoint) writes a streaming DataFrame exactly once, across a restart") {
    onTwoClusters { (t, topic) =>
      scene { s =>
        val from = newTopicOn(2, blue)
        s.orders(Entry("blue", blue, from))
        Seq(0 until 30, 30 until 60).foreach { numbers =>
          produce(blue, from, 2, numbers.map(_.toString))
          val query = builder(t, s.frame().select("key", "value"))
            .setDeliveryGuarantee("exactly-once")
            .setTransactionalIdPrefix("builder")
            .setClusterRouting("first")
            .start(t.checkpoint.toString)
          try settle(query)
          finally query.stop()
          assert(values(blue, topic) == (0 until numbers.end).map(_.toString).sorted)
        }
        assert(values(green, topic).isEmpty)
      }
    }
  }

  test("start() takes a name and a trigger") {
    onTwoClusters { (t, topic) =>
      scene { s =>
        val from = newTopicOn(1, blue)
        s.orders(Entry("blue", blue, from))
        produce(blue, from, 1, Seq("a", "b"))
        val query = builder(t, s.frame().select("key", "value"))
          .start(t.checkpoint.toString, name = "named", trigger = Trigger.AvailableNow())
        try {
          assert(query.awaitTermination(300000L) && query.name == "named")
          assert((values(blue, topic) ++ values(green, topic)).sorted == Seq("a", "b"))
        } finally query.stop()
      }
    }
  }

  test("a service object of this JVM has a handle that a plain options map can name") {
    onTwoClusters { (t, topic) =>
      val options = builder(t, rows(0, 1)).options()
      assert(options.keySet == Set("metadataService", "metadataService.handle", "streamId"))
      rows(0, 3).write.format("dynamic-kafka").options(options).mode("append").save()
      assert((values(blue, topic) ++ values(green, topic)).sorted == Seq("0", "1", "2"))
    }
  }

  test("an invalid value fails in the call that sets it, with the name of the option") {
    val error = refused(DynamicKafka.writer(rows(0, 1)).setDeliveryGuarantee("twice"))
    assert(error.getMessageParameters == ju.Map.of(
      "option",
      "deliveryGuarantee",
      "value",
      "twice",
      "reason",
      "it is not one of 'none', 'at-least-once', 'exactly-once'."
    ))
  }
}
