package io.github.dynamickafka.admin.doctor

import java.net.{Socket, UnknownHostException}

import scala.util.{Failure, Success, Try, Using}

import io.github.dynamickafka.kafka.address.BrokerSocket

/**
 * Names and ports of brokers, without a Kafka client. Nothing but the versions of requests is asked, so that no certificate has to be
 * trusted.
 *
 * @param servers hosts and ports
 * @param timeoutMs the time limit of a connection, and of a response
 */
private[admin] final class Network(servers: Seq[(String, Int)], timeoutMs: Int) {
  import Network._

  def dns: Result = {
    val unknown = servers.map(_._1).distinct.filterNot(BrokerSocket.resolves)
    val remedy = "correct bootstrap.servers, or the name server of this machine"
    if (unknown.isEmpty) Result.ok(s"${servers.size} of ${servers.size} names resolve")
    else partly(unknown.size, s"no address for ${unknown.mkString(", ")}", remedy)
  }

  def tcp: Result = {
    val bad = unreachable(servers)
    val remedy = "start the broker, correct the port, or open the firewall"
    if (bad.isEmpty) Result.ok(s"${servers.size} of ${servers.size} addresses accept connections")
    else partly(bad.size, s"no connection to ${bad.mkString("; ")}", remedy)
  }

  /** By which addresses brokers want to be reached. */
  def advertised(addresses: Seq[(String, Int)]): Result = {
    val bad = unreachable(addresses)
    if (bad.isEmpty) Result.ok(s"${addresses.size} of ${addresses.size} brokers can be reached")
    else Result.failed(
      s"brokers want to be reached at ${bad.mkString("; ")}",
      "correct advertised.listeners of the brokers, or the names and routes of this machine"
    )
  }

  /** Whether a port that should be without TLS answers with it. */
  def speaksTls: Boolean = servers.headOption.exists { address =>
    Try(Using.resource(connect(address))(socket =>
      Using.resource(BrokerSocket.tls(socket, address))(_.startHandshake())
    ))
      .isSuccess
  }

  /** Kafka answers this before a log-in. */
  def versions(hasTls: Boolean): Result = {
    val answers = servers.iterator.map(address =>
      Try(Using.resource(connect(address)) { socket =>
        if (hasTls) Using.resource(BrokerSocket.tls(socket, address))(BrokerSocket.newestMetadata)
        else BrokerSocket.newestMetadata(socket)
      })
    )
    answers.collectFirst { case Success(newest) => newest } match {
      case None => Result("warning", "the broker does not say which requests it supports")
      case Some(newest) if newest < WithTopicIds =>
        Result.warning(
          "the broker is older than Kafka 2.8, without topic ids: a recreated topic may not be recognized",
          "update the brokers"
        )
      case Some(newest) => Result.ok(s"Kafka 2.8 or later (Metadata up to version $newest)")
    }
  }

  private def partly(bad: Int, message: String, remedy: String) =
    if (bad < servers.size) Result.warning(message, remedy) else Result.failed(message, remedy)

  private def unreachable(addresses: Seq[(String, Int)]): Seq[String] =
    addresses.distinct.flatMap { case address @ (host, port) =>
      Try(connect(address).close()) match {
        case Success(_) => None
        case Failure(e) =>
          val reason = e match {
            case _: UnknownHostException => "unknown host"
            case _: java.net.SocketTimeoutException => "no answer"
            case other => Option(other.getMessage).getOrElse(other.getClass.getSimpleName)
          }
          Some(s"$host:$port ($reason)")
      }
    }

  private def connect(address: (String, Int)): Socket = BrokerSocket.connect(address, timeoutMs)
}

private[admin] object Network {

  /** The version of this request with topic ids, in Kafka 2.8. */
  private val WithTopicIds = 10
}
