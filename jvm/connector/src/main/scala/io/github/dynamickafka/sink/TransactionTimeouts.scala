package io.github.dynamickafka.sink

import io.github.dynamickafka.config.ProducerProperties
import io.github.dynamickafka.config.option.OptionName
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.sink.commit.Clusters

/**
 * Determines the transaction timeout: the value of the user or, by default, the maximum of the brokers, up to
 * [[TransactionTimeouts.Default]]. Each cluster is asked once for its maximum, which also verifies that it is
 * reachable.
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
    val chosen =
      text.trim.toLongOption.filter(_ > 0).getOrElse(refuse("it is not a positive number of milliseconds."))
    max.filter(_ < chosen).foreach { most =>
      refuse(
        s"the maximum of cluster '$id' is $most ('transaction.max.timeout.ms' of its brokers). Lower the value, for this " +
          s"cluster with 'cluster.$id.kafka.$Property', or raise the maximum of the brokers."
      )
    }
    chosen
  }
}

private[sink] object TransactionTimeouts {
  val Property = "transaction.timeout.ms"

  /** 15 minutes, the default maximum of brokers. */
  private val KafkaDefaultMax = 900000L
  private val Default = KafkaDefaultMax
}
