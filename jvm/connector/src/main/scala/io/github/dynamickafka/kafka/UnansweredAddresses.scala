package io.github.dynamickafka.kafka

import java.io.EOFException
import java.net.{
  ConnectException,
  NoRouteToHostException,
  SocketTimeoutException,
  UnknownHostException
}
import java.util.concurrent.{CompletableFuture, TimeUnit}
import java.util.{Locale => JLocale}

import scala.util.{Failure, Success, Try}

import org.apache.kafka.clients.CommonClientConfigs.{BOOTSTRAP_SERVERS_CONFIG, SECURITY_PROTOCOL_CONFIG}

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.error.FailureText

/**
 * Why a client of Kafka gets no answer from the addresses of a cluster, which its time-out does not say: asks each address, in
 * parallel and for a limited time. Called when a query or task fails, on the thread that fails.
 */
private[dynamickafka] object UnansweredAddresses {

  /** @param properties those of the client; none of them is in the text but the addresses and the protocol */
  def explain(properties: Map[String, String]): Option[String] = {
    val protocol = properties.getOrElse(SECURITY_PROTOCOL_CONFIG, "PLAINTEXT").toUpperCase(JLocale.ROOT)
    BrokerSocket.addresses(properties.getOrElse(BOOTSTRAP_SERVERS_CONFIG, "")).map { all =>
      val asked = all.distinct.take(MostAddresses)
      val answers = asked.map(address => address -> inThread(of(address, protocol)))
      val texts = answers.map { case ((host, port), answer) =>
        val text = Try(answer.get(LimitMs, TimeUnit.MILLISECONDS))
        s"$host:$port: ${text.getOrElse(s"no answer within $LimitMs ms")}"
      }
      (texts ++ Option.when(all.distinct.size > asked.size)("other addresses were not asked")).mkString("; ")
    }
  }

  private def of(address: (String, Int), protocol: String): String =
    if (!BrokerSocket.resolves(address._1)) "unknown host"
    else Try(BrokerSocket.connect(address, StepMs).close()) match {
      case Failure(e) => text(e)
      case Success(_) =>
        if (protocol.endsWith("SSL")) withTls(address, protocol) else withoutTls(address, protocol)
    }

  private def handshake(address: (String, Int)) = Try(BrokerSocket.handshake(address, StepMs))

  private def metadata(address: (String, Int)) =
    Try(BrokerSocket.using(address, isTls = false, StepMs)(BrokerSocket.newestMetadata))

  private def withTls(address: (String, Int), protocol: String): String =
    handshake(address) match {
      case Success(_) => log(address, protocol, isTls = true)
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(_) if metadata(address).isSuccess =>
        s"the TLS handshake failed: the listener has no TLS, but 'security.protocol' is $protocol"
      case Failure(e) => s"the TLS handshake failed: ${text(e)}"
    }

  private def withoutTls(address: (String, Int), protocol: String): String =
    metadata(address) match {
      case Success(_) => log(address, protocol, isTls = false)
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(e) =>
        if (handshake(address).isSuccess) s"the listener has TLS, but 'security.protocol' is $protocol"
        else s"it accepts connections, but does not answer as a Kafka broker: ${text(e)}"
    }

  /** Whether a log-in is missing. A log-in that the broker refuses is another error of the client. */
  private def log(address: (String, Int), protocol: String, isTls: Boolean): String =
    Try(BrokerSocket.using(address, isTls, StepMs)(BrokerSocket.saslMechanisms)) match {
      case Success(Some(found)) if !protocol.startsWith("SASL") =>
        s"the listener requires a log-in by SASL (${found.mkString(", ")}), but 'security.protocol' is $protocol"
      case Success(_) =>
        "it answers; the brokers may be slow, or have advertised addresses that cannot be reached from here"
      case Failure(_: SocketTimeoutException) => Silent
      case Failure(e) => s"it closed the connection: ${text(e)}"
    }

  private def text(error: Throwable): String = error match {
    case _: UnknownHostException => "unknown host"
    case _: NoRouteToHostException => "no route to the host"
    case e: ConnectException if String.valueOf(e.getMessage).toLowerCase(JLocale.ROOT).contains("refused") =>
      "connection refused"
    case _: SocketTimeoutException => s"no connection within $StepMs ms"
    case _: EOFException => "the connection was closed"
    case other => FailureText.of(other)
  }

  /** Names may take longer to resolve than a time limit of the socket can end. */
  private def inThread(body: => String): CompletableFuture[String] =
    CompletableFuture.supplyAsync[String](() => body, new DaemonThreads("dynamic-kafka-addresses"))

  private val Silent = "it accepts connections, but does not answer"
  private val MostAddresses = 5
  private val StepMs = 1500
  private val LimitMs = 5000L
}
