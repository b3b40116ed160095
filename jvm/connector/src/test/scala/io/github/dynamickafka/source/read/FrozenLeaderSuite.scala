package io.github.dynamickafka.source.read

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.kafka.{ClientDefaults, ConsumerSettings}
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** A broker that does not respond, and keeps its connections. */
class FrozenLeaderSuite extends ReaderTest {

  test("a task that knows the former leader only continues with the new one", TestAll) {
    val three = KafkaCluster.start("three", nodes = 3)
    try {
      val (topic, other, leader) = (newTopic(), newTopic(), three.node(1))
      Seq(topic, other).foreach(three.createTopic(_, replicas = Seq(1, 2, 3)))
      def write(topic: String): Unit = { val _ = three.produce(topic, Seq(Record(0, None, topic))) }
      write(topic)
      val properties = Map(
        "bootstrap.servers" -> s"127.0.0.1:${leader.listenerPort}",
        "request.timeout.ms" -> "10000"
      )
      val settings = new ConsumerSettings("three", ClientDefaults.consumer(properties))
      val consumer = RangeConsumers.open(settings)
      def read(ranges: (String, (Long, Long))*): Set[String] = {
        consumer.begin(ranges.map { case (topic, (from, until)) =>
          new TopicPartition(topic, 0) -> OffsetRange(topic, 0, from, until)
        }.toMap)
        // Three times as long as the request to the former leader takes.
        Iterator.continually(consumer.next(30000, lost => fail(lost.toString), () => ()))
          .takeWhile(_.isDefined).flatten
          .flatMap(slice => (0 until slice.size).map(i => new String(slice.records.get(i).value))).toSet
      }
      assert(read(topic -> ((0, 1))) == Set(topic))
      leader.freeze()
      waitFor("another leader")(three.leader(topic, 0).exists(_ != leader.id))
      Seq(topic, other).foreach(write)
      // The client has to ask for the leader of the other topic, and knows only the one that does not respond.
      assert(read(topic -> ((1, 2)), other -> ((0, 1))) == Set(topic, other))
      consumer.close()
    } finally three.stop()
  }
}
