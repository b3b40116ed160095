package io.github.dynamickafka.testkit

import java.io.{DataInputStream, IOException}
import java.net.{InetAddress, ServerSocket, Socket, SocketTimeoutException}

import scala.concurrent.duration._
import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

class DelayProxySuite extends AnyFunSuite with TimeLimit {

  test("a round trip takes the configured time, whatever the number of bytes") {
    withEcho(60.millis) { (_, client) =>
      // The fastest of several: other processes on the machine can only add time.
      val small = Seq.fill(20)(time(echo(client, 1))).min
      assert(small >= 60.millis && small < 120.millis)
      // With one chunk of 64 KiB per round trip this would take 15 seconds.
      val large = time(echo(client, 16 << 20))
      assert(large < 30.seconds)
    }
  }

  test("the round trip can change while connections are open") {
    withEcho(0.millis) { (proxy, client) =>
      echo(client, 1)
      proxy.delay(60.millis)
      assert(time(echo(client, 1)) >= 60.millis)
    }
  }

  test("a paused proxy holds all bytes and keeps the connection") {
    withEcho(0.millis) { (proxy, client) =>
      proxy.pause()
      client.getOutputStream.write(7)
      client.setSoTimeout(200)
      intercept[SocketTimeoutException](client.getInputStream.read())
      client.setSoTimeout(60000)
      proxy.resume()
      assert(client.getInputStream.read() === 7)
    }
  }

  test("a cut proxy resets old and new connections until it is resumed") {
    withEcho(0.millis) { (proxy, client) =>
      echo(client, 1)
      proxy.cut()
      intercept[IOException](echo(client, 1))
      intercept[IOException](Using.resource(connect(proxy.port))(echo(_, 1)))
      proxy.resume()
      Using.resource(connect(proxy.port))(echo(_, 1))
    }
  }

  test("the end of a stream passes through") {
    withEcho(0.millis) { (_, client) =>
      client.shutdownOutput()
      assert(client.getInputStream.read() === -1)
    }
  }

  test("the proxy delays the clients of a cluster, but not the testkit", TestAll) {
    Using.Manager { use =>
      val proxy = use(new DelayProxy(40.millis))
      val cluster = use(KafkaCluster.start("far", advertisedPort = Some(proxy.port)))
      proxy.connectTo(cluster.listenerPort)
      assert(cluster.bootstrapServers === s"127.0.0.1:${proxy.port}")
      cluster.createTopic("t")
      val client = use(new Topics(cluster.bootstrapServers, () => cluster.nodes))
      client.names()
      assert(time(client.names()) >= 40.millis)
      proxy.pause()
      assert(cluster.topics() === Set("t"))
      proxy.resume()
      assert(client.names() === Set("t"))
      intercept[IllegalStateException](cluster.restartOnNewPort())
    }.get
  }

  /** Runs `test` with a proxy in front of an echo server, and a connection to the proxy. */
  private def withEcho(roundTrip: FiniteDuration)(test: (DelayProxy, Socket) => Any): Any =
    Using.Manager { use =>
      val server = use(new ServerSocket(0, 10, InetAddress.getLoopbackAddress))
      daemon {
        while (true) {
          val socket = server.accept()
          daemon {
            socket.getInputStream.transferTo(socket.getOutputStream)
            socket.close()
          }
        }
      }
      val proxy = use(new DelayProxy(roundTrip))
      proxy.connectTo(server.getLocalPort)
      test(proxy, use(connect(proxy.port)))
    }.get

  private def connect(port: Int): Socket = {
    val socket = new Socket(InetAddress.getLoopbackAddress, port)
    socket.setTcpNoDelay(true)
    socket
  }

  /** Sends bytes and reads them back. */
  private def echo(socket: Socket, bytes: Int): Unit = {
    val sender = daemon(socket.getOutputStream.write(new Array[Byte](bytes)))
    new DataInputStream(socket.getInputStream).readFully(new Array[Byte](bytes))
    sender.join()
  }

  private def time(work: => Any): FiniteDuration = {
    val start = System.nanoTime()
    work
    (System.nanoTime() - start).nanos
  }

  private def daemon(work: => Any): Thread = {
    val thread = new Thread(() =>
      try { work; () }
      catch { case _: IOException => () }
    )
    thread.setDaemon(true)
    thread.start()
    thread
  }
}
