package io.github.dynamickafka.source

import io.github.dynamickafka.metadata.service.DocumentServer
import io.github.dynamickafka.metadata.service.DocumentServer.Answer

/** A query whose streams come from a server that changes them, is stopped and is started again. */
class HttpServiceSuite extends Queries {

  private def document(entries: Entry*): String = {
    val file = new StreamsFile(newFolder())
    file.write("orders" -> entries)
    java.nio.file.Files.readString(file.path)
  }

  private def failures(query: org.apache.spark.sql.streaming.StreamingQuery): Int =
    Option(query.lastProgress).fold(0)(_.sources.head.metrics.get("metadataFailures").toInt)

  test("a cluster is added while the service is down: the query continues, and reads it later") {
    DocumentServer.serving { server =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, Seq("b0", "b1"))
      produce(green, topic, 2, Seq("g0", "g1"))
      server.answer = Answer(200, document(Entry("blue", blue, topic)), tag = Some("\"1\""))
      val results = new Results(newFolder().resolve("checkpoint"))
      val query = results.start(
        spark.readStream.format("dynamic-kafka")
          .option("metadataService", "http")
          .option("metadataService.url", server.url)
          .option("streamIds", "orders")
          .option("streamMetadataDiscoveryIntervalMs", "50")
          .option("streamMetadataDiscoveryFailureThreshold", "100000")
          .options(Asking)
          .load()
      )
      try {
        settle(query)
        waitFor("an answer that nothing has changed")(server.asked.exists(_.contains("if-none-match")))
        server.stop()
        server.answer = Answer(
          200,
          document(Entry("blue", blue, topic), Entry("green", green, topic)),
          tag = Some("\"2\"")
        )
        produce(blue, topic, 2, Seq("b2"))
        waitFor("failed polls, in the progress of a batch") {
          produce(blue, topic, 2, Seq("b"))
          settle(query)
          failures(query) > 0
        }
        assertSame(results.seen, stored("blue", blue, topic))
        server.start()
        waitFor("the new cluster")(results.seen.exists(_.cluster == "green"))
        settle(query)
        assertSame(results.seen, storedOnBoth(topic))
        assert(failures(query) == 0)
      } finally query.stop()
    }
  }
}
