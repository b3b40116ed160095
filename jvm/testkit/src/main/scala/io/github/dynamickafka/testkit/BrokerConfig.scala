package io.github.dynamickafka.testkit

import java.nio.file.Path

/**
 * What a single-node broker is told at its start.
 *
 * @param port where clients connect
 * @param directPort where the harness itself connects, so that it reaches the broker past any proxy
 * @param advertisedPort what clients are told to connect to: `port`, or that of a proxy
 * @param protocol of the port for clients; the harness's own is open to all
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

  /** The lines of server.properties; the caller's properties win. */
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
    // One node can't replicate.
    "offsets.topic.replication.factor" -> "1",
    "transaction.state.log.replication.factor" -> "1",
    "transaction.state.log.min.isr" -> "1",
    // Small, so that a start and the first group are quick.
    "offsets.topic.num.partitions" -> "1",
    "transaction.state.log.num.partitions" -> "1",
    "log.cleaner.dedupe.buffer.size" -> (4 << 20).toString,
    // Tests ask for what they wait for: no topic by accident, no record gone by age.
    "auto.create.topics.enable" -> "false",
    "log.retention.ms" -> "-1",
    // A controller lets a broker in only when the session of the killed one before it has expired.
    "broker.session.timeout.ms" -> "5000",
    "broker.heartbeat.interval.ms" -> "500",
    // Waits that make sense with many brokers and members only.
    "group.initial.rebalance.delay.ms" -> "0"
    // Not less than Kafka's 10 s: transaction.abort.timed.out.transaction.cleanup.interval.ms, which is also when a broker
    // that comes back first looks for transactions that outlived their time-out. One that looks before its listeners are
    // open completes the abort without its markers (seen with 4.3.1), and holds up read_committed for good.
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
