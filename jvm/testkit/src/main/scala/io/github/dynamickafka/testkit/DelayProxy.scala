package io.github.dynamickafka.testkit

import java.io.{IOException, InputStream, OutputStream}
import java.net.{InetAddress, ServerSocket, Socket, SocketException}
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{ConcurrentHashMap, LinkedBlockingQueue, Semaphore, TimeUnit}

import scala.annotation.tailrec
import scala.concurrent.duration._

/**
 * A TCP proxy on the loopback address that simulates a distant or unreachable broker.
 *
 * It delays each byte by half of `roundTrip` in each direction, and buffers all bytes in transit, so that the
 * throughput is that of the loopback address. It listens from its creation and forwards once it has a target.
 */
final class DelayProxy(roundTrip: FiniteDuration) extends AutoCloseable {
  import DelayProxy._

  @volatile private var oneWay = roundTrip / 2
  private val listener = new ServerSocket(Ports.free(), 1024, InetAddress.getLoopbackAddress)
  private val connections = ConcurrentHashMap.newKeySet[Connection]()
  private val gate = new Gate
  @volatile private var targetPort: Option[Int] = None
  @volatile private var isCut = false

  spawn("accept")(accept())

  def port: Int = listener.getLocalPort

  /** The target of new connections. */
  def connectTo(port: Int): Unit = targetPort = Some(port)

  /** Changes the delay of what comes from now on. */
  def delay(roundTrip: FiniteDuration): Unit = oneWay = roundTrip / 2

  /** Stops forwarding and keeps the connections open, like a network that loses every packet. */
  def pause(): Unit = gate.shut()

  /** Resets all connections, and each new one, until [[resume]]. */
  def cut(): Unit = {
    isCut = true
    connections.forEach(_.reset())
  }

  /** Ends [[pause]] and [[cut]]. */
  def resume(): Unit = {
    isCut = false
    gate.open()
  }

  override def close(): Unit = {
    listener.close()
    cut()
    gate.open()
  }

  @tailrec private def accept(): Unit = {
    val client =
      try Some(listener.accept())
      catch { case _: IOException if listener.isClosed => None }
    client match {
      case None => ()
      case Some(socket) =>
        serve(socket)
        accept()
    }
  }

  private def serve(client: Socket): Unit = {
    val target = targetPort.filterNot(_ => isCut)
    try {
      val broker = new Socket(InetAddress.getLoopbackAddress, target.getOrElse(throw new IOException("cut")))
      val connection = new Connection(client, broker)
      connections.add(connection)
      // A concurrent cut may have missed this connection.
      if (isCut) connection.reset() else connection.start()
    } catch {
      case _: IOException => reset(client)
    }
  }

  private final class Connection(client: Socket, broker: Socket) {
    private val openDirections = new AtomicInteger(2)

    def start(): Unit = {
      Seq(client, broker).foreach(_.setTcpNoDelay(true))
      pump(client, broker)
      pump(broker, client)
    }

    def reset(): Unit = {
      connections.remove(this)
      Seq(client, broker).foreach(DelayProxy.reset)
    }

    private def pump(from: Socket, to: Socket): Unit = {
      val line = new Line
      spawn("read") {
        try line.fill(from.getInputStream)
        catch { case _: IOException => reset() }
        finally line.end()
      }
      spawn("write") {
        try {
          line.drain(to.getOutputStream)
          to.shutdownOutput()
        } catch { case _: IOException => reset() }
        finally {
          line.abandon()
          if (openDirections.decrementAndGet() == 0) close()
        }
      }
    }

    private def close(): Unit = {
      connections.remove(this)
      Seq(client, broker).foreach(_.close())
    }
  }

  /** The bytes in transit in one direction of one connection. */
  private final class Line {
    private val chunks = new LinkedBlockingQueue[Chunk]
    private val room = new Semaphore(BytesUnderWay)

    /** Reads bytes from a socket until the end of its stream. */
    def fill(in: InputStream): Unit = {
      val buffer = new Array[Byte](ChunkBytes)
      @tailrec def next(): Unit = {
        val length = in.read(buffer)
        if (length >= 0) {
          room.acquire(length)
          add(Some(buffer.take(length)))
          next()
        }
      }
      next()
    }

    /** Marks the end of the stream. */
    def end(): Unit = add(None)

    /** Writes bytes to a socket, each at its time, until the end of the stream. */
    @tailrec def drain(out: OutputStream): Unit = {
      val chunk = chunks.take()
      TimeUnit.NANOSECONDS.sleep(chunk.due - System.nanoTime())
      gate.pass()
      chunk.bytes match {
        case None => ()
        case Some(bytes) =>
          out.write(bytes)
          room.release(bytes.length)
          drain(out)
      }
    }

    /** Called when draining has ended, so that filling must not wait for free space. */
    def abandon(): Unit = room.release(BytesUnderWay)

    private def add(bytes: Option[Array[Byte]]): Unit = {
      chunks.add(Chunk(bytes, System.nanoTime() + oneWay.toNanos))
      ()
    }
  }
}

object DelayProxy {
  private val ChunkBytes = 1 << 16
  // Sufficient for 1 GB/s and 32 ms.
  private val BytesUnderWay = 1 << 25

  /** @param bytes empty at the end of the stream */
  private final case class Chunk(bytes: Option[Array[Byte]], due: Long)

  /** Blocks threads while it is closed. */
  private final class Gate {
    private var isOpen = true
    def shut(): Unit = synchronized { isOpen = false }
    def open(): Unit = synchronized { isOpen = true; notifyAll() }
    def pass(): Unit = synchronized(while (!isOpen) wait())
  }

  private def spawn(role: String)(work: => Unit): Unit = {
    val thread = new Thread(() => work, s"delay-proxy-$role")
    thread.setDaemon(true)
    thread.start()
  }

  /** Closes the connection with a reset (RST). */
  private def reset(socket: Socket): Unit = {
    try socket.setSoLinger(true, 0)
    catch { case _: SocketException => () } // It is closed already.
    socket.close()
  }
}
