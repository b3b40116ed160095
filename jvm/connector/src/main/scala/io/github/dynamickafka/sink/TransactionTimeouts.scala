package io.github.dynamickafka.sink

import io.github.dynamickafka.config.ProducerProperties
import io.github.dynamickafka.config.option.OptionName
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.sink.commit.Clusters

/**
 * How long transactions live: as the user has said, else as long as the brokers allow, up to [[TransactionTimeouts.Default]].
 * Each cluster is asked once for its maximum, which also shows that it can be reached.
 */
private[sink] final class TransactionTimeouts(clusters: Clusters) {
  import TransactionTimeouts._

  private var maxima = Map.empty[(String, ProducerProperties), Option[Long]]

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION */
  def of(properties: Map[String, ProducerProperties]): Map[String, Long] = properties.map { case (id, p) =>
    val max = maxima.getOrElse((id, p), clusters.maxTransactionTimeoutMs(id))
    maxima += (id, p) -> max
    val chosen = p.client.get(Property)
    id -> chosen.fold(math.min(Default, max.getOrElse(KafkaDefaultMax)))(text => checked(id, text, max))
  }

  private def checked(id: String, text: String, max: Option[Long]): Long = {
    def refuse(reason: String) = throw Errors.invalidOption(OptionName.Kafka + Property, text, reason)
    val chosen = text.trim.toLongOption.filter(_ > 0).getOrElse(refuse("it is no time in milliseconds."))
    max.filter(_ < chosen).foreach { most =>
      refuse(
        s"cluster '$id' allows $most at most ('transaction.max.timeout.ms' of its brokers). Lower it, for this cluster with " +
          s"'cluster.$id.kafka.$Property', or raise the brokers'."
      )
    }
    chosen
  }
}

private[sink] object TransactionTimeouts {
  val Property = "transaction.timeout.ms"

  /** Fifteen minutes, which is what brokers allow if nobody has set them otherwise. */
  private val KafkaDefaultMax = 900000L
  private val Default = KafkaDefaultMax
}
