package io.github.dynamickafka

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** Formats run without Kafka's clients and without the connector, also in these tests. */
class ClassPathSuite extends AnyFunSuite with TimeLimit {

  Seq(
    "org.apache.kafka.common.KafkaException",
    "org.apache.kafka.clients.consumer.KafkaConsumer",
    "org.apache.spark.sql.kafka010.KafkaSourceProvider",
    "io.github.dynamickafka.DynamicKafkaProvider"
  ).foreach(name =>
    test(s"$name is not on the class path")(assertThrows[ClassNotFoundException](Class.forName(name)))
  )
}
