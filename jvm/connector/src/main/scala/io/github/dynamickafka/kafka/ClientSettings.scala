package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicLong
import java.{util => ju}

import org.apache.kafka.clients.CommonClientConfigs

import io.github.dynamickafka.base.Redaction

/**
 * How the clients of one cluster are created. Clients of equal settings are interchangeable: where anything differs (an
 * address, a password), the cluster gets other clients. Sent to executors; holds secrets, and `toString` prints none.
 *
 * @param cluster id of the cluster
 * @param properties with Kafka's names
 */
private[dynamickafka] abstract class ClientSettings(val cluster: String, val properties: Map[String, String])
    extends Serializable {

  override val hashCode: Int = (getClass.getName, cluster, properties).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ClientSettings =>
      hashCode == that.hashCode && getClass == that.getClass && cluster == that.cluster &&
      properties == that.properties
    case _ => false
  }

  def bootstrapServers: String = properties.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "")

  /**
   * What the constructor of a client takes.
   *
   * @param defaults for properties that are not set
   * @param fixed properties that cannot be set
   */
  protected def clientProperties(
      clientIdPrefix: String,
      defaults: Map[String, String],
      fixed: Map[String, String]
  ): ju.Map[String, AnyRef] = {
    val all = new ju.HashMap[String, AnyRef]
    // Each client gets a name of its own: two clients of one name in a JVM share their JMX beans.
    all.put(
      CommonClientConfigs.CLIENT_ID_CONFIG,
      s"$clientIdPrefix-$cluster-${ClientSettings.count.incrementAndGet()}"
    )
    (defaults ++ properties ++ fixed).foreach { case (name, value) => all.put(name, value) }
    all
  }

  override def toString: String = s"${getClass.getSimpleName}($cluster: ${Redaction.show(properties)})"
}

private object ClientSettings {
  private val count = new AtomicLong
}
