package io.github.dynamickafka.metadata.document

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

  test("values stay as they are written") {
    val value = record("a", "x:1", "blue").replace(
      "\"properties\": {",
      "\"properties\": {\"csv.nullValue\": 1.50, \"password\": 12345678901234567890123, "
    )
    val found = empty.add("a", value, 0).streams("a").getClusterMetadataMap.get("blue").getProperties
    assert(found.get("csv.nullValue") == "1.50" && found.get("password") == "12345678901234567890123")
    // Also for a library that reads numbers as such.
    val file =
      "version: 1\nclusters: {b: {properties: {bootstrap.servers: 'b:1', v: 1.50, n: 9, y: true}}}\n" +
        "streams: {s: {clusters: {b: {partitions: {t: [0]}}}}}\n"
    val published = TopicRecords.published(file, Nil, Nil)("s").get
    assert(
      published.contains("\"v\": \"1.50\", \"n\": 9, \"y\": true") && published.contains("[0]"),
      published
    )
    assert(empty.add("s", published, 0).streams == MetadataDocument.parse(file, "file"))
  }

  test("a stream that is invalid together with the others is an error of that stream") {
    val both = record("a", "x:1", "blue", "green")
    val replacing =
      record("b", "x:1", "green").replace("\"properties\"", "\"replaces\": \"blue\", \"properties\"")
    val records = empty.add("a", both, 0).add("c", record("c", "x:1", "red"), 1).add("b", replacing, 2)
    assert(records.streams.keySet == Set("b", "c"))
    val reason = records.invalid("a").getMessage
    assert(
      reason.contains("cluster 'green'") && reason.contains("it replaces cluster 'blue', which is active")
    )
    val refused = intercept[EditRefused](
      empty.add("a", both, 0).after(Map("b" -> Some(replacing)))
    )
    assert(refused.getMessage.startsWith("queries that read stream 'a' would stand still: it replaces"))
    // What is invalid before is not the fault of another record.
    assert(records.after(Map("d" -> Some(record("d", "x:1", "red")))).streams.contains("d"))
    assert(
      records.after(
        Map("a" -> Some(both.replace("\"topics\"", "\"state\": \"draining\", \"topics\"")))
      )
        .invalid.isEmpty
    )
  }

  test("an edit changes the records of its streams only") {
    val records = empty.add("a", record("a", "x:1", "blue"), 0).add("b", record("b", "y:1", "green"), 1)
      .add("c", record("c", "y:1", "green"), 2).add("bad", "nothing", 3)
    def edit(change: String => String) = records.edited(change)
    val drained = edit(DocumentEdits.withState(_, "green", "draining", Some("b")))
    assert(drained.keySet == Set("b"))
    val after = records.after(drained)
    assert(after.streams("b").getClusterMetadataMap.get("green").state == "draining")
    assert(after.streams - "b" == records.streams - "b")
    // A cluster that the stream's own record does not have.
    val moved = records.after(edit(DocumentEdits.moved(_, "a", "blue", "green")))
    assert(
      moved.streams("a").getClusterMetadataMap.get("green").getProperties.get("bootstrap.servers") == "y:1"
    )
    assert(edit(DocumentEdits.withState(_, "green", "active", None)).isEmpty)
    val refused = intercept[EditRefused](edit(DocumentEdits.withState(_, "red", "draining", Some("bad"))))
    assert(refused.getMessage.contains("The newest records of these streams are not valid: 'bad'"))
  }

  test("what a file publishes") {
    val file =
      "version: 1\nclusters:\n  blue: {properties: &p {bootstrap.servers: 'b:1'}}\n  green: {properties: {<<: *p}}\n" +
        "streams:\n  orders: {clusters: {blue: {topics: [o]}}}\n" +
        "  payments: {clusters: {green: {topics: [p], state: draining}, blue: {topic_pattern: 'p-.*'}}}\n"
    val all = TopicRecords.published(file, Nil, Seq("old"))
    assert(all.keys.toSeq == Seq("orders", "payments", "old") && all("old").isEmpty)
    assert(TopicRecords.published(file, Seq("orders"), Nil).keySet == Set("orders"))
    val records = empty.after(all)
    assert(records.streams == MetadataDocument.parse(file, "file"))
    Seq(
      (Seq("order"), Nil, file, "there is no stream 'order'; the streams are orders, payments"),
      (Nil, Seq("orders"), file, "stream 'orders' is in the file: remove it there first"),
      (Nil, Nil, "[]", "a file in the format of Flink cannot be published")
    ).foreach { case (only, removed, text, says) =>
      val refused = intercept[EditRefused](TopicRecords.published(text, only, removed)).getMessage
      assert(refused.startsWith(says), refused)
    }
  }
}
