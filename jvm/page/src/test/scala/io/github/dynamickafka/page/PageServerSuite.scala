package io.github.dynamickafka.page

import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}
import java.net.{Socket, URI}
import java.nio.charset.StandardCharsets.US_ASCII
import java.time.Duration

import scala.util.{Random, Success, Try, Using}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

class PageServerSuite extends AnyFunSuite with TimeLimit {

  private val unfinished = Seq(
    "GET / HTTP/1.1\r\nHost: local",
    "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\ntoken=",
    "GET /page.js HTTP/1.1\r\nHost: localhost\r\n\r\n"
  )

  test("connections that send or read slowly, without the token, block no other visitor") {
    val settings = PageSettings("127.0.0.1", 0, Some("a-token-of-twenty-ch"))
    Using.Manager { use =>
      val server = use(new PageServer(settings, _ => Array.emptyByteArray))
      val address = URI.create(server.address)
      val client = HttpClient.newHttpClient()
      def status() = client.send(
        HttpRequest.newBuilder(address).timeout(Duration.ofSeconds(20)).build(),
        BodyHandlers.discarding
      ).statusCode
      for (request <- unfinished) {
        for (_ <- 1 to 64) {
          val slow = use(new Socket(address.getHost, address.getPort))
          slow.getOutputStream.write(request.getBytes(US_ASCII))
        }
        for (_ <- 1 to 3) assert(status() == 401, request)
      }
    }.get
  }

  test("the next port serves the page if its own one is in use, and the log says so") {
    Using.Manager { use =>
      val first = use(new PageServer(PageSettings("127.0.0.1", 0, None), _ => Array.emptyByteArray))
      val port = URI.create(first.address).getPort
      val lines = Logs.during(classOf[PageServer]) {
        val second = use(new PageServer(PageSettings("127.0.0.1", port, None), _ => Array.emptyByteArray))
        assert(URI.create(second.address).getPort != port)
      }
      assert(lines.exists(_.contains(s"Port $port is in use")), lines)
    }.get
  }

  test("random visitors who send or read slowly, without the token: every other visitor gets the page") {
    val first = TestSeed()
    val settings = PageSettings("127.0.0.1", 0, Some("a-token-of-twenty-ch"))
    (first until first + 5).foreach { seed =>
      val random = new Random(seed)
      Using.Manager { use =>
        val server = use(new PageServer(settings, _ => new Array[Byte](1 << 20)))
        val address = URI.create(server.address)
        val client = HttpClient.newHttpClient()
        var (slow, steps) = (Vector.empty[Socket], Vector.empty[String])
        (1 to 60).foreach { _ =>
          random.nextInt(8) match {
            case 0 =>
              val token = random.nextBoolean()
              steps :+= s"visitor, token: $token"
              val path = if (token) "data.json" else ""
              val request = HttpRequest.newBuilder(address.resolve(path)).timeout(Duration.ofSeconds(20))
              if (token) request.header("Authorization", s"Bearer ${settings.token.get}")
              val status = Try(client.send(request.build(), BodyHandlers.discarding).statusCode)
              val where = s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}"
              assert(status == Success(if (token) 200 else 401), where)
            case 1 if slow.nonEmpty =>
              val gone = slow(random.nextInt(slow.size))
              steps :+= "one leaves"
              gone.close()
              slow = slow.filterNot(_ eq gone)
            case _ =>
              val whole = unfinished(random.nextInt(unfinished.size))
              val request = whole.take(random.nextInt(whole.length + 1))
              steps :+= s"${request.length} of '${whole.takeWhile(_ >= ' ')}'"
              val socket = use(new Socket(address.getHost, address.getPort))
              socket.getOutputStream.write(request.getBytes(US_ASCII))
              slow :+= socket
          }
        }
      }.get
    }
  }

  test("a connection that sends slowly is closed at the end of the time limit, without another visitor") {
    val settings = PageSettings("127.0.0.1", 0, Some("a-token-of-twenty-ch"))
    Using.Manager { use =>
      val server = use(new PageServer(settings, _ => Array.emptyByteArray, new PageThreads(limitMs = 200)))
      val address = URI.create(server.address)
      for (request <- unfinished.take(2)) {
        val slow = use(new Socket(address.getHost, address.getPort))
        slow.setSoTimeout(60000)
        slow.getOutputStream.write(request.getBytes(US_ASCII))
        assert(Iterator.continually(slow.getInputStream.read()).contains(-1), request)
      }
    }.get
  }
}
