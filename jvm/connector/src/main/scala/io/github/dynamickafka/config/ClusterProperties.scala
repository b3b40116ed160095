package io.github.dynamickafka.config

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom

import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec

import io.github.dynamickafka.base.Redaction

/**
 * The Kafka properties of one cluster. Precedence of each property, highest first:
 *
 *  1. the option `cluster.<id>.kafka.<property>`, or `cluster.<id>.<property>`
 *  1. the entry of the cluster in the metadata
 *  1. the option `kafka.<property>`
 *  1. the option `clientIdPrefix`, and the defaults of [[io.github.dynamickafka.kafka.ClientDefaults]]
 *
 * Contains secrets, which `toString` omits. Equal values result in equal consumers.
 *
 * @param client the properties of the consumers, without the prefix `kafka.`
 * @param admin the properties of the admin clients on the driver
 * @param groupId the consumer group that the user set, which `committed` reads; `client` has the group of the consumers
 */
private[dynamickafka] final case class ClusterProperties private[config] (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String],
    groupId: Option[String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  override def toString: String = s"ClusterProperties($clusterId: ${Redaction.show(client)})"
}

private[dynamickafka] object ClusterProperties {
  val BootstrapServers = "bootstrap.servers"
}

/**
 * The Kafka properties of one cluster for writing, with the precedence of [[ClusterProperties]]. Contains secrets,
 * which `toString` omits.
 */
private[dynamickafka] final case class ProducerProperties private[config] (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  /** With other properties of the admin client. */
  def withAdmin(more: Map[String, String]): ProducerProperties =
    new ProducerProperties(clusterId, client, admin ++ more)

  override def toString: String = s"ProducerProperties($clusterId: ${Redaction.show(client)})"
}

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
