package io.github.dynamickafka.metadata.watch

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.service.{KafkaTopicMetadataService, ServiceArguments}
import io.github.dynamickafka.source.Clusters
import io.github.dynamickafka.testkit.{OnBrokers, Record, TestAll}

class KafkaTopicAnswersSuite extends AnswerMatrix with OnBrokers {
  import AnswerMatrix._

  private lazy val red = Clusters.running(2)

  test("what queries make of the answers of the service 'kafka-topic'", TestAll) {
    assertMatrix(new Door {
      private val topic = s"streams-${System.nanoTime()}"
      private var known = Set.empty[String]
      create()

      private def create(): Unit = red.createTopic(topic, 1, Map("cleanup.policy" -> "compact"))

      override def service() = new KafkaTopicMetadataService(ServiceArguments(
        MetadataServiceSpecs.KafkaTopic,
        "bootstrapServers" -> red.bootstrapServers,
        "topic" -> topic,
        "timeoutMs" -> "60000"
      ))

      /** All records of an answer are one batch, so that no answer is between two. */
      override def put(answer: Answer): Boolean = answer match {
        case Has(streams, invalid) =>
          val values = streams.map(s => s.streamId -> text(Has(Seq(s)))) ++ invalid.map(_ -> "nothing")
          val removed = (known -- values.map(_._1)).toSeq.map(_ -> null)
          known = values.map(_._1).toSet
          val _ =
            red.produce(topic, (values ++ removed).map { case (id, value) => Record(0, Some(id), value) })
          true
        case Down =>
          red.deleteTopic(topic)
          known = Set.empty
          true
        case Late =>
          red.freeze()
          true
        case _ => false
      }

      override def release(): Unit = {
        red.thaw()
        if (!red.topics().contains(topic)) create()
      }
    })
  }
}
