package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.Admin

/** What the transaction coordinators of one cluster know. */
private[testkit] final class Transactions(bootstrapServers: String) extends AutoCloseable {
  private val admin: Admin = AdminClients.open(bootstrapServers)

  /** Kafka's name of the state of the last transaction, by transactional id. */
  def states(): Map[String, String] =
    AdminClients.result(admin.listTransactions().all()).asScala
      .map(t => t.transactionalId -> t.state.toString)
      .toMap

  override def close(): Unit = admin.close()
}
