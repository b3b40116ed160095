package io.github.dynamickafka.config

import java.util.Locale

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.RawOptions

/**
 * The values of `acks` and `enable.idempotence` that a delivery guarantee accepts. Kafka rejects some of them too, but only
 * when a task creates its producer, and with `acks=0` a producer reports records as sent that no broker has received.
 */
private[dynamickafka] object Acknowledgements {
  private val Acks = "acks"
  private val Idempotence = "enable.idempotence"

  /** Checks the options, before a query starts. */
  private[config] def check(guarantee: DeliveryGuarantee, raw: RawOptions): Unit = {
    val written = raw.kafka.map { case (name, value) => (s"kafka.$name", name, value) } ++
      raw.cluster.map { case (key, value) => (s"cluster.$key", key, value) }
    written.foreach { case (writtenAs, key, value) =>
      val lower = key.toLowerCase(Locale.ROOT)
      // The id of a cluster may contain dots.
      val property =
        Seq(Acks, Idempotence).find(name => lower == name || lower.endsWith(s".$name"))
      for (name <- property; reason <- refusal(guarantee, name, value))
        throw Errors.invalidOption(writtenAs, value, reason)
    }
  }

  /**
   * Checks the properties of a cluster, which options and metadata have set.
   *
   * @return a warning
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def check(guarantee: DeliveryGuarantee, cluster: String, client: Map[String, String]): Option[String] = {
    val set = Seq(Acks, Idempotence).flatMap(name => client.get(name).map(name -> _))
    for ((name, value) <- set; reason <- refusal(guarantee, name, value))
      throw Errors.metadataInvalid(
        s"cluster '$cluster', property '$name'",
        s"the value is '$value': $reason"
      )
    client.get(Acks).filter(_.trim == "1" && guarantee == DeliveryGuarantee.AtLeastOnce).map(_ =>
      s"Kafka cluster '$cluster' has 'acks=1': records that the leader of a partition has acknowledged are " +
        "lost if it fails before another broker has copied them"
    )
  }

  private def refusal(guarantee: DeliveryGuarantee, property: String, value: String): Option[String] =
    (guarantee, property, value.trim.toLowerCase(Locale.ROOT)) match {
      case (DeliveryGuarantee.ExactlyOnce, Idempotence, "false") =>
        Some("'deliveryGuarantee' is 'exactly-once', and transactions require idempotence.")
      case (DeliveryGuarantee.ExactlyOnce, Acks, acks) if acks != "all" && acks != "-1" =>
        Some("'deliveryGuarantee' is 'exactly-once', and transactions require 'all'.")
      case (DeliveryGuarantee.AtLeastOnce, Acks, "0") =>
        Some(
          "'deliveryGuarantee' is 'at-least-once', and without acknowledgements a lost record is not noticed; " +
            "'deliveryGuarantee' 'none' accepts it."
        )
      case _ => None
    }
}
