package io.github.dynamickafka.testkit

import java.nio.file.Path

/**
 * The configuration of one broker.
 *
 * @param controllerPorts the ports of all controllers of the cluster, by id: each broker is a controller too
 * @param port the port for clients
 * @param directPort the port for the testkit and other brokers, which bypasses a proxy
 * @param advertisedPort the advertised port for clients: `port`, or the port of a proxy
 * @param protocol the security protocol of the port for clients; the port for the testkit has no security
 * @param jvmOptions options of the JVM of the process, such as `-Djava.security.krb5.conf=<file>`
 */
private[testkit] final case class BrokerConfig(
    version: String,
    id: Int,
    rack: Option[String],
    port: Int,
    directPort: Int,
    controllerPorts: Seq[Int],
    advertisedPort: Int,
    protocol: String,
    properties: Map[String, String],
    jvmOptions: Seq[String]
) {

  /** The maximum heap of the process. Clusters with several brokers share the memory of a small machine. */
  def heapMb: Int = if (controllerPorts.size == 1) 512 else 256

  /** The lines of server.properties; the caller's properties take precedence. */
  def lines(data: Path): Seq[String] =
    (listeners ++ racks ++ forTests ++ forVersion ++ Map(
      "log.dirs" -> data.toString
    ) ++ properties).toSeq.sorted
      .map { case (key, value) => s"$key=$value" }

  private def listeners: Map[String, String] = Map(
    "process.roles" -> "broker,controller",
    "node.id" -> id.toString,
    "controller.quorum.voters" ->
      controllerPorts.zipWithIndex.map { case (p, i) => s"${i + 1}@127.0.0.1:$p" }.mkString(","),
    "controller.listener.names" -> "CONTROLLER",
    "inter.broker.listener.name" -> "DIRECT",
    "listener.security.protocol.map" -> s"CLIENT:$protocol,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "listeners" ->
      s"CLIENT://127.0.0.1:$port,DIRECT://127.0.0.1:$directPort,CONTROLLER://127.0.0.1:${controllerPorts(id - 1)}",
    "advertised.listeners" -> s"CLIENT://127.0.0.1:$advertisedPort,DIRECT://127.0.0.1:$directPort"
  )

  private def racks: Map[String, String] = rack.fold(Map.empty[String, String]) { rack =>
    Map(
      "broker.rack" -> rack,
      "replica.selector.class" -> "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    )
  }

  // One of three brokers may be down.
  private val replicas = math.min(controllerPorts.size, 3)
  private val inSync = math.max(replicas - 1, 1)

  private def forTests: Map[String, String] = Map(
    "default.replication.factor" -> replicas.toString,
    "min.insync.replicas" -> inSync.toString,
    "offsets.topic.replication.factor" -> replicas.toString,
    "transaction.state.log.replication.factor" -> replicas.toString,
    "transaction.state.log.min.isr" -> inSync.toString,
    // Few partitions, so that the start and the first group are fast.
    "offsets.topic.num.partitions" -> "1",
    "transaction.state.log.num.partitions" -> "1",
    "log.cleaner.dedupe.buffer.size" -> (4 << 20).toString,
    // Each idle thread wakes up three times a second. Kafka starts eight, and three per listener.
    "num.io.threads" -> "3",
    "num.network.threads" -> "1",
    // No topic is created implicitly, and no record expires.
    "auto.create.topics.enable" -> "false",
    "log.retention.ms" -> "-1",
    // After a kill, the controller registers the broker again only when its previous session has expired.
    "broker.session.timeout.ms" -> "5000",
    "broker.heartbeat.interval.ms" -> "1000",
    // An idle broker takes 1 % of a core less: twenty run beside the tests. Kafka's is 500 ms.
    "metadata.max.idle.interval.ms" -> "10000",
    // On a busy machine the controllers must not elect another active one again and again.
    "controller.quorum.fetch.timeout.ms" -> "5000",
    "controller.quorum.request.timeout.ms" -> "5000",
    // Nor may a broker give up, after Kafka's 60 s, because the disk or the other controllers are slow to start.
    "initial.broker.registration.timeout.ms" -> KafkaCluster.StartPatience.toMillis.toString,
    // This delay is only useful with several members.
    "group.initial.rebalance.delay.ms" -> "0"
    // transaction.abort.timed.out.transaction.cleanup.interval.ms is not lowered from Kafka's 10 s: it also determines
    // when a restarted broker first searches for expired transactions. If it does so before its listeners are open, it
    // completes the abort without markers (observed with 4.3.1), which blocks read_committed permanently.
  )

  private def forVersion: Map[String, String] =
    if (version.takeWhile(_ != '.').toInt >= 4) {
      Map(
        "group.coordinator.threads" -> "1",
        "share.coordinator.state.topic.replication.factor" -> replicas.toString,
        "share.coordinator.state.topic.min.isr" -> inSync.toString,
        "share.coordinator.state.topic.num.partitions" -> "1"
      )
    } else {
      Map.empty
    }
}
