package io.github.dynamickafka.testkit

import java.io.IOException
import java.net.{InetAddress, InetSocketAddress, ServerSocket, Socket}
import java.util.concurrent.ConcurrentHashMap

import scala.util.{Random, Using}

/** Ports of the loopback address. */
private[testkit] object Ports {

  // Below the range of ephemeral ports. An ephemeral port could be used by another connection while its broker is down,
  // and a client that retries to connect to it could even connect to itself.
  private val First = 15000
  private val Last = 32000

  // Each port is used only once, because brokers that are down keep their ports.
  private val taken = ConcurrentHashMap.newKeySet[Int]()

  /** A port that is free now; another process may use it before the broker does. */
  def free(): Int =
    Iterator
      .continually(Random.between(First, Last))
      .take(1000)
      .find(port => taken.add(port) && isFree(port))
      .getOrElse(throw new IllegalStateException(s"no free port between $First and $Last"))

  def accepts(port: Int): Boolean =
    try
      Using.resource(new Socket()) { socket =>
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress, port), 1000)
        true
      }
    catch {
      case _: IOException => false
    }

  private def isFree(port: Int): Boolean =
    try {
      new ServerSocket(port, 1, InetAddress.getLoopbackAddress).close()
      true
    } catch {
      case _: IOException => false
    }
}
