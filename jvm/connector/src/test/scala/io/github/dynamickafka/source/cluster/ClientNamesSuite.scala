package io.github.dynamickafka.source.cluster

import java.lang.management.ManagementFactory

import javax.management.ObjectName

import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.source.{Entry, Queries}

/** The client ids of a query in the brokers' logs and in JMX. */
class ClientNamesSuite extends Queries {

  private def clients(kind: String, id: String): Boolean =
    ManagementFactory.getPlatformMBeanServer.isRegistered(new ObjectName(s"$kind:type=app-info,id=$id"))

  test("clientIdPrefix is used by the consumers and the admin clients of each cluster") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      Seq(blue, green).foreach(produce(_, topic, 1, Seq("a", "b")))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic).and("client.id", s"own-$topic"))
      val jmx = Seq(
        // Kafka 4.0 removed the former.
        "kafka.auto.include.jmx.reporter" -> "true",
        "kafka.metric.reporters" -> "org.apache.kafka.common.metrics.JmxReporter"
      ).find { case (name, _) => KafkaProperties.isKnown(name.stripPrefix("kafka.")) }
      val query = s.start(("clientIdPrefix" -> s"team-$topic") +: jmx.toSeq: _*)
      settle(query)
      assert(s.seen.size == 4)
      // A pool that is full of the consumers of other tests keeps a new one only when theirs have been idle for a while.
      eventually {
        Seq(blue, green).foreach(produce(_, topic, 1, Seq("c")))
        settle(query)
        for (kind <- Seq("kafka.consumer", "kafka.admin.client")) {
          assert(clients(kind, s"team-$topic-blue"), kind)
          assert(clients(kind, s"own-$topic") && !clients(kind, s"team-$topic-green"), kind)
        }
      }
    }
  }
}
