package io.github.dynamickafka.kafka

import java.io.{DataInputStream, DataOutputStream, IOException}
import java.net.{InetAddress, InetSocketAddress, Socket}
import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.X509Certificate

import scala.util.{Try, Using}

import javax.net.ssl.{SSLContext, SSLSocket, TrustManager, X509TrustManager}

/**
 * Connections to addresses of brokers without a Kafka client, to find out why a client gets no answer. Only what Kafka answers before
 * a log-in is asked, and no secret is sent, so that no certificate has to be trusted.
 */
private[dynamickafka] object BrokerSocket {

  // An entry of bootstrap.servers as Kafka's clients read it.
  private val Address = """(?:[0-9A-Za-z%._-]*://)?\[?([0-9A-Za-z%._:-]+)\]?:([0-9]{1,5})""".r

  /** The hosts and ports of `bootstrap.servers`; None if one of them is not `host:port`, with a port that exists. */
  def addresses(servers: String): Option[Seq[(String, Int)]] = {
    val found = servers.split(',').toSeq.map(_.trim).filter(_.nonEmpty).map {
      case Address(host, port) => Some(host -> port.toInt).filter(a => a._2 > 0 && a._2 < 65536)
      case _ => None
    }
    Option.when(found.nonEmpty && found.forall(_.isDefined))(found.flatten)
  }

  def resolves(host: String): Boolean = Try(InetAddress.getByName(host)).isSuccess

  /** @param timeoutMs the time limit of the connection, and of a response */
  def connect(address: (String, Int), timeoutMs: Int): Socket = {
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

  /** Calls a function with a connection, which has TLS or not. */
  def using[A](address: (String, Int), isTls: Boolean, timeoutMs: Int)(use: Socket => A): A =
    Using.resource(connect(address, timeoutMs))(socket =>
      if (isTls) Using.resource(tls(socket, address))(use) else use(socket)
    )

  def handshake(address: (String, Int), timeoutMs: Int): Unit =
    Using.resource(connect(address, timeoutMs))(socket =>
      Using.resource(tls(socket, address))(_.startHandshake())
    )

  /** TLS on a connection; the handshake happens with the first request. */
  private def tls(socket: Socket, address: (String, Int)): SSLSocket = {
    val context = SSLContext.getInstance("TLS")
    context.init(null, Array[TrustManager](AnyCertificate), null)
    context.getSocketFactory.createSocket(socket, address._1, address._2, true).asInstanceOf[SSLSocket]
  }

  /** The newest version of requests for metadata that the broker supports. */
  def newestMetadata(socket: Socket): Int = {
    val response = exchange(socket, ApiVersions, 0, Array.emptyByteArray)
    if (response.getShort != 0) throw new IOException("the broker refuses the request")
    val count = response.getInt
    (0 until count).map(_ => (response.getShort, response.getShort, response.getShort))
      .collectFirst { case (key, _, newest) if key == Metadata => newest.toInt }.getOrElse(0)
  }

  /** The SASL mechanisms of a listener; None: the listener has no log-in by SASL. */
  def saslMechanisms(socket: Socket): Option[Seq[String]] = {
    // No broker has a mechanism of this name, and those that it has are in the answer.
    val none = "NONE".getBytes(UTF_8)
    val request = ByteBuffer.allocate(2 + none.length).putShort(none.length.toShort).put(none).array
    val response = exchange(socket, SaslHandshake, 1, request)
    val error = response.getShort
    Option.when(error == UnsupportedMechanism) {
      (0 until response.getInt).map { _ =>
        val name = new Array[Byte](response.getShort.toInt)
        response.get(name)
        new String(name, UTF_8)
      }
    }
  }

  /** Sends a request and returns the body of its response. */
  private def exchange(socket: Socket, api: Int, version: Int, body: Array[Byte]): ByteBuffer = {
    val client = "dynamic-kafka".getBytes(UTF_8)
    val request = ByteBuffer.allocate(10 + client.length + body.length).putShort(api.toShort)
      .putShort(version.toShort).putInt(1).putShort(client.length.toShort).put(client).put(body)
    val out = new DataOutputStream(socket.getOutputStream)
    out.writeInt(request.capacity)
    out.write(request.array)
    out.flush()
    val in = new DataInputStream(socket.getInputStream)
    val size = in.readInt()
    if (size < ShortestResponse || size > LongestResponse)
      throw new IOException("the answer is not one of a Kafka broker")
    ByteBuffer.wrap(in.readNBytes(size)).position(4)
  }

  private val ApiVersions = 18
  private val SaslHandshake = 17
  private val Metadata = 3
  private val UnsupportedMechanism = 33
  private val ShortestResponse = 6
  private val LongestResponse = 1 << 20

  private object AnyCertificate extends X509TrustManager {
    override def checkClientTrusted(chain: Array[X509Certificate], authType: String): Unit = ()
    override def checkServerTrusted(chain: Array[X509Certificate], authType: String): Unit = ()
    override def getAcceptedIssuers: Array[X509Certificate] = Array.empty
  }
}
