package io.github.dynamickafka.source.subscription

import java.nio.file.Files

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Results, StreamsFile}

/** Metadata files that are invalid or change while a query runs. */
class MetadataFileSuite extends Queries {

  private def threshold(n: Int) = "streamMetadataDiscoveryFailureThreshold" -> n.toString

  private def fileFrame(file: StreamsFile, options: (String, String)*) =
    spark.readStream.format("dynamic-kafka")
      .options(Map(
        "metadataService" -> "file",
        "metadataService.path" -> file.path.toString,
        "streamIds" -> "orders",
        "streamMetadataDiscoveryIntervalMs" -> "100"
      ) ++ Asking ++ options)
      .load()

  test("a broken file at the first start: the error names file and line; once corrected, the query starts") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq("a", "b", "c"))
    val folder = newFolder()
    val file = new StreamsFile(folder)
    val results = new Results(folder.resolve("checkpoint"))
    file.writeText("{\n  \"version\": 1,\n  \"clusters\": {},\n  \"streems\": {}\n}")
    val e = refused(results.start(fileFrame(file, threshold(2))))
    assert(text(e).contains(file.path.toString) && text(e).contains("streems"), text(e))
    assert(text(e).contains("line 4"), text(e))
    file.write("orders" -> Seq(Entry("blue", blue, topic)))
    val query = results.start(fileFrame(file), Trigger.AvailableNow())
    assert(query.awaitTermination(300000))
    assertSame(results.seen, stored("blue", blue, topic))
  }

  test("a file that is truncated, emptied, deleted and rewritten while the query runs removes nothing") {
    val topic = newTopicOn(1, blue)
    val folder = newFolder()
    val file = new StreamsFile(folder)
    val results = new Results(folder.resolve("checkpoint"))
    def good() = file.write("orders" -> Seq(Entry("blue", blue, topic)))
    good()
    val query = results.start(fileFrame(file, threshold(100)))
    // Progress, which contains the failures, is only reported with records.
    def failures(value: String): Int = {
      produce(blue, topic, 1, Seq(value))
      settle(query)
      query.lastProgress.sources.head.metrics.get("metadataFailures").toInt
    }
    def untilNoticed(value: String) = eventually(assert(failures(value) > 0))
    def untilGood(value: String) = eventually(assert(failures(value) == 0))
    try {
      settle(query)
      val whole = Files.readString(file.path)
      Seq(whole.take(whole.length / 2), "", "null", "[1, 2", whole.replace("orders", "\u0000")).foreach {
        text =>
          Files.writeString(file.path, text)
          untilNoticed(s"with ${text.length}")
          good()
          untilGood("in between")
      }
      Files.delete(file.path)
      untilNoticed("without")
      good()
      assertSame(results.seen, stored("blue", blue, topic))
      assert(results.logged.retained.isEmpty)
    } finally query.stop()
  }
}
