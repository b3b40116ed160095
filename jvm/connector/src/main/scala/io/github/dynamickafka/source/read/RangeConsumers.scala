package io.github.dynamickafka.source.read

import org.apache.kafka.clients.consumer.KafkaConsumer

import io.github.dynamickafka.kafka.{ConsumerSettings, FetchedTopicIds}
import io.github.dynamickafka.time.Clock

/** Opens [[RangeConsumer]]s with Kafka's consumer. */
private[source] object RangeConsumers {

  def open(settings: ConsumerSettings, clock: Clock = Clock.System): RangeConsumer =
    of(settings, kafka(settings), clock)

  /** @param consumer one with these settings */
  def of(
      settings: ConsumerSettings,
      consumer: KafkaConsumer[Array[Byte], Array[Byte]],
      clock: Clock = Clock.System
  ): RangeConsumer = {
    val uncommitted =
      Option.when(settings.readsCommitted)(() => kafka(settings.readingUncommitted))
    new RangeConsumer(settings, consumer, clock, FetchedTopicIds(consumer), uncommitted)
  }

  private def kafka(settings: ConsumerSettings) =
    new KafkaConsumer[Array[Byte], Array[Byte]](settings.forConsumer)
}
