package io.github.dynamickafka.testkit

import java.nio.file.Path

/**
 * The configuration of a single-node broker.
 *
 * @param port the port for clients
 * @param directPort the port for the testkit, which bypasses a proxy
 * @param advertisedPort the advertised port for clients: `port`, or the port of a proxy
 * @param protocol the security protocol of the port for clients; the port for the testkit has no security
 */
private[testkit] final case class BrokerConfig(
    version: String,
    port: Int,
    directPort: Int,
    controllerPort: Int,
    advertisedPort: Int,
    protocol: String,
    properties: Map[String, String]
) {

  /** The lines of server.properties; the caller's properties take precedence. */
  def lines(data: Path): Seq[String] =
    (listeners ++ forTests ++ forVersion ++ Map("log.dirs" -> data.toString) ++ properties).toSeq.sorted
      .map { case (key, value) => s"$key=$value" }

  private def listeners: Map[String, String] = Map(
    "process.roles" -> "broker,controller",
    "node.id" -> "1",
    "controller.quorum.voters" -> s"1@127.0.0.1:$controllerPort",
    "controller.listener.names" -> "CONTROLLER",
    "inter.broker.listener.name" -> "DIRECT",
    "listener.security.protocol.map" -> s"CLIENT:$protocol,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "listeners" ->
      s"CLIENT://127.0.0.1:$port,DIRECT://127.0.0.1:$directPort,CONTROLLER://127.0.0.1:$controllerPort",
    "advertised.listeners" -> s"CLIENT://127.0.0.1:$advertisedPort,DIRECT://127.0.0.1:$directPort"
  )

  private def forTests: Map[String, String] = Map(
    // One node cannot replicate.
    "offsets.topic.replication.factor" -> "1",
    "transaction.state.log.replication.factor" -> "1",
    "transaction.state.log.min.isr" -> "1",
    // Few partitions, so that the start and the first group are fast.
    "offsets.topic.num.partitions" -> "1",
    "transaction.state.log.num.partitions" -> "1",
    "log.cleaner.dedupe.buffer.size" -> (4 << 20).toString,
    // No topic is created implicitly, and no record expires.
    "auto.create.topics.enable" -> "false",
    "log.retention.ms" -> "-1",
    // After a kill, the controller registers the broker again only when its previous session has expired.
    "broker.session.timeout.ms" -> "5000",
    "broker.heartbeat.interval.ms" -> "500",
    // This delay is only useful with several members.
    "group.initial.rebalance.delay.ms" -> "0"
    // transaction.abort.timed.out.transaction.cleanup.interval.ms is not lowered from Kafka's 10 s: it also determines
    // when a restarted broker first searches for expired transactions. If it does so before its listeners are open, it
    // completes the abort without markers (observed with 4.3.1), which blocks read_committed permanently.
  )

  private def forVersion: Map[String, String] =
    if (version.takeWhile(_ != '.').toInt >= 4) {
      Map(
        "share.coordinator.state.topic.replication.factor" -> "1",
        "share.coordinator.state.topic.min.isr" -> "1",
        "share.coordinator.state.topic.num.partitions" -> "1"
      )
    } else {
      Map.empty
    }
}
