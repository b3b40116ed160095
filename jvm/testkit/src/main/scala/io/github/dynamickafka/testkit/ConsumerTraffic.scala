package io.github.dynamickafka.testkit

import java.lang.management.ManagementFactory

import scala.jdk.CollectionConverters._

import javax.management.{InstanceNotFoundException, ObjectName}

/**
 * What the Kafka consumers of this JVM report in JMX. It is called by SQL, like [[TaskFaults]]:
 * `java_method('io.github.dynamickafka.testkit.ConsumerTraffic', 'bytes', 'a-topic')`.
 */
object ConsumerTraffic {
  private val beans = ManagementFactory.getPlatformMBeanServer

  /** The bytes that the consumers of a topic have received, by node id: `1=5000,2=70`. Bootstrap connections are omitted. */
  def bytes(topic: String): String = {
    val consumers = read(s"consumer-fetch-manager-metrics,client-id=*,topic=$topic", "bytes-consumed-total")
      .map { case (name, _) => name.getKeyProperty("client-id") }
      .toSet
    read("consumer-node-metrics,client-id=*,node-id=*", "incoming-byte-total")
      .collect {
        case (name, bytes) if consumers(name.getKeyProperty("client-id")) && nodeId(name) > 0 =>
          nodeId(name) -> bytes
      }
      .groupMapReduce(_._1)(_._2)(_ + _)
      .map { case (node, bytes) => s"$node=$bytes" }
      .mkString(",")
  }

  /** The id of the follower from which a partition is fetched, or -1 if it is fetched from the leader. */
  def follower(topic: String, partition: Int): String =
    read(
      s"consumer-fetch-manager-metrics,client-id=*,topic=$topic,partition=$partition",
      "preferred-read-replica"
    ).map(_._2).mkString(",")

  private def read(pattern: String, attribute: String): Seq[(ObjectName, Long)] =
    beans.queryNames(new ObjectName(s"kafka.consumer:type=$pattern"), null).asScala.toSeq.flatMap { name =>
      try Some(name -> beans.getAttribute(name, attribute).asInstanceOf[Number].longValue)
      catch { case _: InstanceNotFoundException => None } // The consumer was closed in the meantime.
    }

  /** The number in a name such as `node-17`. */
  private def nodeId(name: ObjectName): Int = name.getKeyProperty("node-id").stripPrefix("node-").toInt
}
