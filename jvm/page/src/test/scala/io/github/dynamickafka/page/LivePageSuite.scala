package io.github.dynamickafka.page

import java.net.http.HttpClient.Redirect
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{CookieManager, ServerSocket, URI}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

/** The page over HTTP, with gauges of the tests. */
class LivePageSuite extends AnyFunSuite with TimeLimit {

  private val token = "a-token-of-twenty-ch"

  private def client() =
    HttpClient.newBuilder().cookieHandler(new CookieManager).followRedirects(Redirect.NORMAL).build()

  private def get(address: String, headers: (String, String)*): HttpResponse[String] = {
    val request = HttpRequest.newBuilder(URI.create(address))
    headers.foreach { case (name, value) => request.header(name, value) }
    client().send(request.build(), BodyHandlers.ofString)
  }

  private def json(address: String): JsonNode = new ObjectMapper().readTree(get(s"${address}data.json").body)

  private def withPage(test: (LivePage, ManualClock) => Unit): Unit = {
    val clock = new ManualClock
    Using.resource(new LivePage(clock))(test(_, clock))
  }

  private def show(
      page: LivePage,
      name: String,
      settings: PageSettings = PageSettings(port = 0)
  ): Option[LiveQuery] =
    page.show(settings, "app", name, "0", "streams: orders")

  private def gauges(of: (String, Long)*) = of.map { case (name, value) => name -> (() => value) }.toMap

  test("all queries of the driver are on one page, with values of their gauges and their past") {
    withPage { (page, clock) =>
      assert(page.address.isEmpty)
      val first = show(page, "<b>&\"one").get
      val second = show(page, "two").get
      clock.advanceMs(1000)
      first.show(
        gauges("pendingRecords" -> 7),
        Map("blue" -> gauges("pendingRecords" -> 7, "recordsRead" -> 3, "state" -> 1))
      )
      first.point()
      first.event("enters", "blue", "orders: 2 partitions")
      clock.advanceMs(1000)
      second.close()
      val answer = json(page.address.get)
      assert(answer.get("application").asText == "app" && answer.get("now").asLong == 2000)
      val Seq(one, two) = answer.get("queries").elements.asScala.toSeq
      assert(
        one.get("name").asText == "<b>&\"one" && one.get("ended").isNull && two.get("ended").asLong == 2000
      )
      assert(one.at("/total/pendingRecords").asLong == 7)
      assert(one.at("/clusters/0/id").asText == "blue" && one.at("/clusters/0/state").asText == "draining")
      assert(one.at("/points/at/0").asLong == 1000 && one.at("/points/clusters/blue/records/0").asLong == 3)
      assert(one.at("/spans/0/from").asLong == 1000)
      assert(one.at("/events/1/detail").asText == "orders: 2 partitions")
      val later = new ObjectMapper().readTree(get(s"${page.address.get}data.json?since=1000").body)
      // The page has a timer of its own, which may have added a later one.
      assert(later.at("/queries/0/points/at").elements.asScala.forall(_.asLong > 1000))
    }
  }

  test("the files of the page need no other host, and nothing else is served") {
    withPage { (page, _) =>
      show(page, "q")
      val at = page.address.get
      for (path <- Seq("", "page.js", "draw.js", "page.css", "uPlot.iife.min.js", "uPlot.min.css")) {
        val answer = get(at + path)
        assert(answer.statusCode == 200 && answer.body.nonEmpty, path)
        assert(answer.headers.firstValue("Content-Security-Policy").get.startsWith("default-src 'none'"))
        assert(answer.headers.firstValue("Cache-Control").get == "no-store")
        assert("""(?:src|href)="(?:https?:)?//""".r.findFirstIn(answer.body).isEmpty, path)
      }
      for (path <- Seq("LivePage.class", "../page.css", "%2e%2e/%2e%2e/error/x.json", "index.htm"))
        assert(get(at + path).statusCode == 404, path)
      val post = HttpRequest.newBuilder(URI.create(at)).POST(BodyPublishers.ofString("x")).build()
      assert(client().send(post, BodyHandlers.ofString).statusCode == 405)
    }
  }

  test("with a token, nothing about queries is shown before it is entered") {
    withPage { (page, _) =>
      show(page, "secret-orders", PageSettings(port = 0, token = Some(token)))
      val at = page.address.get
      for (path <- Seq("", "data.json", "page.js", "login")) {
        val answer = get(at + path)
        assert(answer.statusCode == 401 && !answer.body.contains("secret-orders"), path)
      }
      assert(get(s"${at}data.json", "Authorization" -> s"Bearer $token").body.contains("secret-orders"))
      val visitor = client()
      def enter(text: String) = visitor.send(
        HttpRequest.newBuilder(URI.create(s"${at}login")).header(
          "Content-Type",
          "application/x-www-form-urlencoded"
        )
          .POST(BodyPublishers.ofString(s"token=$text")).build(),
        BodyHandlers.ofString
      )
      assert(enter("another-token-of-this-length").statusCode == 401)
      assert(enter(token).statusCode == 200)
      val data =
        visitor.send(HttpRequest.newBuilder(URI.create(s"${at}data.json")).build(), BodyHandlers.ofString)
      assert(data.body.contains("secret-orders") && !data.body.contains(token))
    }
  }

  test("a port in use: the next one is taken; without any, the query runs without the page") {
    withPage { (page, _) =>
      Using.resource(new ServerSocket(0, 1, java.net.InetAddress.getByName("127.0.0.1"))) { taken =>
        assert(show(page, "q", PageSettings(port = taken.getLocalPort)).isDefined)
        assert(URI.create(page.address.get).getPort != taken.getLocalPort)
      }
    }
    withPage((page, _) =>
      assert(show(page, "q", PageSettings(host = "203.0.113.1", token = Some(token))).isEmpty)
    )
  }

  test("a query with other settings is not shown beside one that runs, and opens the page again after it") {
    withPage { (page, _) =>
      val first = show(page, "one")
      val guarded = PageSettings(port = 0, token = Some(token))
      assert(show(page, "two", guarded).isEmpty)
      first.foreach(_.close())
      assert(show(page, "two", guarded).isDefined)
      assert(get(s"${page.address.get}data.json").statusCode == 401)
    }
  }

  test("of queries that have ended, the newest ones stay") {
    withPage { (page, _) =>
      val running = show(page, "running")
      (1 to 30).foreach(n => show(page, s"q$n").foreach(_.close()))
      val names = json(page.address.get).get("queries").elements.asScala.map(_.get("name").asText).toSeq
      assert(names.contains("running") && names.contains("q30") && !names.contains("q1"))
      assert(names.size <= LivePage.MostEnded + 2)
      running.foreach(_.close())
    }
  }
}
