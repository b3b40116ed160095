package io.github.dynamickafka.procedure.doctor

import java.io.{DataInputStream, DataOutputStream, IOException}
import java.net.{InetAddress, InetSocketAddress, Socket, UnknownHostException}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.X509Certificate

import scala.util.{Failure, Success, Try, Using}

import javax.net.ssl.{SSLContext, SSLSocket, TrustManager, X509TrustManager}

/**
 * Names and ports of brokers, without a Kafka client. Nothing but the versions of requests is asked, so that no certificate has to be
 * trusted.
 *
 * @param servers hosts and ports
 * @param timeoutMs the time limit of a connection, and of a response
 */
private[procedure] final class Network(servers: Seq[(String, Int)], timeoutMs: Int) {
  import Network._

  def dns: Result = {
    val unknown = servers.map(_._1).distinct.filter(host => Try(InetAddress.getByName(host)).isFailure)
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
    Try(Using.resource(connect(address))(socket => Using.resource(tls(socket, address))(_.startHandshake())))
      .isSuccess
  }

  /** Kafka answers this before a log-in. */
  def versions(hasTls: Boolean): Result = {
    val answers = servers.iterator.map(address =>
      Try(Using.resource(connect(address)) { socket =>
        if (hasTls) Using.resource(tls(socket, address))(newestMetadata) else newestMetadata(socket)
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

  private def connect(address: (String, Int)): Socket = {
    val socket = new Socket
    try {
      socket.connect(new InetSocketAddress(address._1, address._2), timeoutMs)
      socket.setSoTimeout(timeoutMs)
      socket
    } catch {
      case e: Throwable =>
        socket.close()
        throw e
    }
  }

  private def tls(socket: Socket, address: (String, Int)): SSLSocket = {
    val context = SSLContext.getInstance("TLS")
    context.init(null, Array[TrustManager](AnyCertificate), null)
    context.getSocketFactory.createSocket(socket, address._1, address._2, true).asInstanceOf[SSLSocket]
  }
}

private[procedure] object Network {
  private val ApiVersions = 18
  private val Metadata = 3

  /** The version of this request with topic ids, in Kafka 2.8. */
  private val WithTopicIds = 10
  private val LongestResponse = 1 << 20

  /** The hosts and ports of `bootstrap.servers`; None if one of them is not `host:port`. */
  def addresses(servers: String): Option[Seq[(String, Int)]] = {
    val found = servers.split(',').toSeq.map(_.trim).filter(_.nonEmpty).map { server =>
      val plain = server.drop(server.indexOf("://") match {
        case -1 => 0
        case at => at + 3
      })
      val at = plain.lastIndexOf(':')
      if (at <= 0) None
      else plain.drop(at + 1).toIntOption.filter(p => p > 0 && p < 65536)
        .map(plain.take(at).stripPrefix("[").stripSuffix("]") -> _)
    }
    Option.when(found.nonEmpty && found.forall(_.isDefined))(found.flatten)
  }

  /** The newest version of requests for metadata that the broker supports. */
  private def newestMetadata(socket: Socket): Int = {
    val client = "dynamic-kafka-doctor".getBytes(UTF_8)
    val request = ByteBuffer.allocate(10 + client.length).putShort(ApiVersions.toShort).putShort(0)
      .putInt(1).putShort(client.length.toShort).put(client)
    val out = new DataOutputStream(socket.getOutputStream)
    out.writeInt(request.capacity)
    out.write(request.array)
    out.flush()
    val in = new DataInputStream(socket.getInputStream)
    val size = in.readInt()
    if (size < 10 || size > LongestResponse) throw new IOException("not a broker of Kafka")
    val response = ByteBuffer.wrap(in.readNBytes(size)).position(4)
    if (response.getShort != 0) throw new IOException("the broker refuses the request")
    val count = response.getInt
    (0 until count).map(_ => (response.getShort, response.getShort, response.getShort))
      .collectFirst { case (key, _, newest) if key == Metadata => newest.toInt }.getOrElse(0)
  }

  private object AnyCertificate extends X509TrustManager {
    override def checkClientTrusted(chain: Array[X509Certificate], authType: String): Unit = ()
    override def checkServerTrusted(chain: Array[X509Certificate], authType: String): Unit = ()
    override def getAcceptedIssuers: Array[X509Certificate] = Array.empty
  }
}
