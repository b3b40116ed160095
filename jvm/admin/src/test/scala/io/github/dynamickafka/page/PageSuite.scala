package io.github.dynamickafka.page

import java.net.URI
import java.net.http.HttpResponse.BodyHandlers
import java.net.http.{HttpClient, HttpRequest}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.{Entry, Queries}

/** The data of the page while a query reads, and writes exactly once. */
class PageSuite extends Queries {

  private val token = "a-token-of-twenty-ch"
  private val secret = "pw-unused"

  private def body(): String = {
    val at = DynamicKafka.uiAddress.getOrElse(throw new AssertionError("there is no page"))
    val request =
      HttpRequest.newBuilder(URI.create(s"${at}data.json")).header("Authorization", s"Bearer $token").build()
    HttpClient.newHttpClient().send(request, BodyHandlers.ofString).body
  }

  private def query(name: String, part: String): JsonNode = new ObjectMapper().readTree(body()).get("queries")
    .elements.asScala.filter(q => q.get("name").asText == name && q.get("part").asText == part).toSeq.last

  private def clusters(of: JsonNode) =
    of.get("clusters").elements.asScala.map(c => c.get("id").asText -> c.get("state").asText).toMap

  private def happened(of: JsonNode) =
    of.get("events").elements.asScala.map(e => e.get("what").asText -> e.get("cluster").asText).toSeq

  test("source and sink of a query are on the page through a change of the topology; no secret is") {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(2, blue, green), newTopicOn(2, blue))
        produce(blue, from, 2, (0 to 9).map(_.toString))
        def entry(id: String, at: io.github.dynamickafka.testkit.KafkaCluster) =
          Entry(id, at, from).and("ssl.truststore.password", secret)
        s.orders(entry("blue", blue))
        t.out(Entry("blue", blue, topic).and("ssl.truststore.password", secret))
        val ui = Seq("ui" -> "true", "uiPort" -> "0", "uiToken" -> token)
        val running = t.start(
          s.frame(ui: _*).select("key", "value"),
          Seq("queryName" -> "paged", "deliveryGuarantee" -> "exactly-once") ++ ui: _*
        )
        settle(running)
        eventually {
          val (source, sink) = (query("paged", "0"), query("paged", "sink"))
          assert(clusters(source) == Map("blue" -> "active") && clusters(sink) == Map("blue" -> "active"))
          assert(source.at("/clusters/0/values/recordsRead").asLong == 10)
          assert(sink.at("/clusters/0/values/recordsWritten").asLong == 10)
          assert(sink.at("/total/committedTransactions").asLong >= 1)
        }
        // What has drained stays until it leaves the metadata, without a value of records.
        s.change(entry("blue", blue).draining, entry("green", green))
        settle(running)
        eventually {
          val source = query("paged", "0")
          assert(clusters(source) == Map("blue" -> "retained", "green" -> "active"))
          assert(source.at("/total/kafkaClustersCount").asLong == source.get("clusters").size)
          assert(source.at("/clusters/0/values").size == 1)
        }
        s.change(entry("green", green))
        settle(running)
        eventually {
          val source = query("paged", "0")
          assert(clusters(source) == Map("green" -> "active"))
          assert(happened(source).sorted ==
            Seq(
              "drains" -> "blue",
              "enters" -> "blue",
              "enters" -> "green",
              "leaves" -> "blue",
              "started" -> ""
            ))
        }
        assert(!body().contains(secret) && !body().contains(token) && !body().contains("bootstrap"))
        running.stop()
        eventually(assert(!query("paged", "0").get("ended").isNull && !query(
          "paged",
          "sink"
        ).get("ended").isNull))
      }
    }
  }
}
