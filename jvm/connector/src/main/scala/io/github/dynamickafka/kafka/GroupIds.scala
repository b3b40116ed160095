package io.github.dynamickafka.kafka

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom

import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

/**
 * Consumer group ids that are unique for a cluster and its Kafka properties.
 *
 * The executors of Spark cache consumers by group id and topic partition. If a cached consumer has different
 * properties, the task fails with a message that contains all properties, including passwords. So the group id that a
 * user sets for several clusters must differ by cluster, and must change when the properties of a cluster change.
 */
private[dynamickafka] object GroupIds {
  private val Algorithm = "HmacSHA256"

  /** Random for each process, so that a group id in Kafka or in a log cannot be used to guess passwords. */
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
        // The length makes the encoding of the list unambiguous.
        mac.update(s"${bytes.length}:".getBytes(UTF_8))
        mac.update(bytes)
    }
    s"$groupId-$clusterId-${mac.doFinal().take(4).map(b => f"$b%02x").mkString}"
  }
}
