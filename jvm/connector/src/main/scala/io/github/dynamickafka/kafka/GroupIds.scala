package io.github.dynamickafka.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom

import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

/**
 * Consumer group ids that are equal only for the same cluster and the same Kafka properties.
 *
 * Spark's executors keep consumers by group id and topic partition, and when they find one with other properties
 * they fail the task with all properties in the text, passwords too. So a group id that a user gives for several
 * clusters is told apart, and so are the properties of a cluster before and after a change.
 */
private[dynamickafka] object GroupIds {
  private val Algorithm = "HmacSHA256"

  /** New in each process: nobody can try passwords against a group id that was seen in Kafka or in a log. */
  private val key: Array[Byte] = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    bytes
  }

  def distinct(groupId: String, clusterId: String, properties: Map[String, String]): String = {
    val mac = Mac.getInstance(Algorithm)
    mac.init(new SecretKeySpec(key, Algorithm))
    (clusterId +: properties.toSeq.sorted.flatMap { case (name, value) => Seq(name, value) }).foreach {
      part =>
        val bytes = part.getBytes(UTF_8)
        // With its length, so that no two lists of parts are the same bytes.
        mac.update(s"${bytes.length}:".getBytes(UTF_8))
        mac.update(bytes)
    }
    s"$groupId-$clusterId-${mac.doFinal().take(4).map(b => f"$b%02x").mkString}"
  }
}
