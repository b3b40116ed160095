package io.github.dynamickafka.testkit

import java.util.concurrent.ExecutionException

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{Admin, AdminClientConfig}
import org.apache.kafka.common.KafkaFuture

private[testkit] object AdminClients {

  /** The time limit of a call with its retries. It includes the failover of a leader and of a controller. */
  val CallMs: Int = 90000

  /** The client of the testkit, for a listener without security. */
  def open(bootstrapServers: String): Admin = Admin.create(
    Map[String, AnyRef](
      AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG -> bootstrapServers,
      // A frozen broker does not respond; a test should fail with that before its own time limit.
      AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG -> "10000",
      AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG -> CallMs.toString,
      AdminClientConfig.RETRY_BACKOFF_MS_CONFIG -> "20",
      AdminClientConfig.RECONNECT_BACKOFF_MS_CONFIG -> "20"
    ).asJava
  )

  /** Waits, and throws the error of the broker instead of its wrapper. */
  def result[A](future: KafkaFuture[A]): A =
    try future.get()
    catch { case e: ExecutionException => throw e.getCause }
}
