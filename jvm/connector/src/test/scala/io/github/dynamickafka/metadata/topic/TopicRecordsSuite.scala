package io.github.dynamickafka.metadata.topic

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class TopicRecordsSuite extends AnyFunSuite with TimeLimit {

  private val empty = TopicRecords("the topic 'streams'")

  private def record(stream: String, servers: String, clusters: String*): String = {
    val declared =
      clusters.map(id => s""""$id": {"properties": {"bootstrap.servers": "$servers"}}""").mkString(", ")
    val used = clusters.map(id => s""""$id": {"topics": ["$stream"]}""").mkString(", ")
    s"""{"version": 1, "clusters": {$declared}, "streams": {"$stream": {"clusters": {$used}}}}"""
  }

  private def servers(records: TopicRecords, stream: String, cluster: String) =
    records.streams(stream).getClusterMetadataMap.get(cluster).getProperties.get("bootstrap.servers")

  test("the newest record of each stream, and null removes it") {
    val records = empty.add("a", record("a", "x:1", "blue"), 0).add("b", record("b", "x:1", "green"), 1)
      .add("a", record("a", "x:1", "blue", "red"), 2)
    assert(records.streams.keySet == Set("a", "b"))
    assert(records.streams("a").getClusterMetadataMap.keySet == java.util.Set.of("blue", "red"))
    assert(records.add("a", null, 3).streams.keySet == Set("b"))
    assert(empty.streams.isEmpty)
  }

  test("where records differ about a cluster, the newest one holds for all streams") {
    val records = empty.add("a", record("a", "old:1", "blue"), 0).add("b", record("b", "new:1", "blue"), 1)
    assert(servers(records, "a", "blue") == "new:1" && servers(records, "b", "blue") == "new:1")
    val again = records.add("a", record("a", "newest:1", "blue"), 2)
    assert(servers(again, "b", "blue") == "newest:1")
  }

  test("a record that cannot be used: the reason names it, and other streams are not affected") {
    val good = empty.add("a", record("a", "x:1", "blue"), 0)
    Seq(
      "nothing" -> "it is not JSON",
      "[]" -> "it is not a JSON object",
      record("other", "x:1", "blue") -> "exactly the stream of its key",
      record("b", "x:1", "blue").replace("topics", "topcis") -> "topcis",
      record("b", "x:1", "blue").replace(
        "\"clusters\": {\"blue\": {\"properties\"",
        "\"clusters\": {\"red\": {\"properties\": {\"bootstrap.servers\": \"secret:1\"}}, \"blue\": {\"properties\""
      ) -> "does not have its cluster 'red'"
    ).foreach { case (value, reason) =>
      val records = good.add("b", value, 7)
      assert(records.streams.keySet == Set("a"))
      val text = records.invalid("b").getMessage
      assert(text.contains("offset 7") && text.contains("stream 'b'") && text.contains(reason), text)
      assert(!text.contains("secret"))
      assert(records.add("b", record("b", "x:1", "blue"), 8).invalid.isEmpty)
      assert(records.add("b", null, 8).invalid.isEmpty)
    }
  }
}
