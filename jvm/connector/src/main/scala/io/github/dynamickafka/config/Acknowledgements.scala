package io.github.dynamickafka.config

import org.slf4j.LoggerFactory

/** Whether a value of `acks` keeps the promise of `at-least-once`. */
private[dynamickafka] object Acknowledgements {
  val Property = "acks"

  private val log = LoggerFactory.getLogger("io.github.dynamickafka.config.Acknowledgements")

  /**
   * @param where where the value is set
   * @return the reason to refuse it
   */
  def check(where: String, value: String): Option[String] = {
    if (value.trim == "1")
      log.warn(s"$where is 1: a record is lost if the leader of its partition fails before it is replicated")
    Option.when(value.trim == "0")(
      "'deliveryGuarantee' is 'at-least-once', and with 0 no record is acknowledged. Use 'all', or set 'deliveryGuarantee' to " +
        "'none'."
    )
  }
}
