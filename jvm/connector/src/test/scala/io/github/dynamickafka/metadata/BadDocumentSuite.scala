package io.github.dynamickafka.metadata

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.testkit.TimeLimit

/** Each bad document, the line that its error must name, and what the error must say. */
class BadDocumentSuite extends AnyFunSuite with TimeLimit {

  private case class Bad(title: String, document: String, line: Int, says: String*)

  private val Head =
    "version: 1\nclusters:\n  blue: {properties: {bootstrap.servers: 'b:1'}}\nstreams:\n  orders:\n"

  /** Six lines stand before `entry`. */
  private def inCluster(entry: String) = s"$Head    clusters:\n      blue:$entry\n"

  private def withClusters(clusters: String) = s"version: 1\nclusters:\n$clusters\nstreams: {}\n"

  private val where = Seq("stream 'orders'", "cluster 'blue'")

  private val table = Seq(
    Bad("scalar document", "hello", 1, "must be a mapping, but is text"),
    Bad("null document", "~", 1, "must be a mapping, but is empty"),
    Bad("no version", "clusters: {}\nstreams: {}", 1, "'version' is missing"),
    Bad("unknown version", "# c\nversion: 2\nstreams: {}", 2, "key 'version'", "version 2 is not known"),
    Bad("version of a wrong type", "version: [1]\nstreams: {}", 1, "key 'version'", "but is a list"),
    Bad("version not an integer", "version: 1.0\nstreams: {}", 1, "version 1.0 is not known"),
    Bad("no streams", "version: 1\nclusters: {}", 1, "'streams' is missing"),
    Bad("null streams", "version: 1\nstreams:\n", 2, "key 'streams'", "must be a mapping, but is empty"),
    Bad("streams as list", "version: 1\nstreams:\n- a", 2, "must be a mapping, but is a list"),
    Bad("unknown key on top", "version: 1\nstream: {}\n", 2, "key 'stream'", "Did you mean 'streams'?"),
    Bad(
      "duplicate top key",
      "version: 1\nstreams: {}\nstreams: {}",
      3,
      "'streams' is given twice, first at line 2"
    ),
    Bad("cluster null", withClusters("  blue:"), 3, "cluster 'blue'", "must be a mapping, but is empty"),
    Bad(
      "cluster without properties",
      withClusters("  blue: {}"),
      3,
      "cluster 'blue'",
      "'properties' is missing"
    ),
    Bad("properties null", withClusters("  blue:\n    properties:"), 4, "cluster 'blue'", "key 'properties'"),
    Bad("property key of cluster", withClusters("  blue: {propertes: {}}"), 3, "Did you mean 'properties'?"),
    Bad(
      "no bootstrap",
      withClusters("  blue:\n    properties:\n      a: 1"),
      4,
      "'bootstrap.servers' is missing"
    ),
    Bad(
      "blank bootstrap",
      withClusters("  blue:\n    properties:\n      bootstrap.servers: ' '"),
      5,
      "cluster 'blue'",
      "property 'bootstrap.servers'",
      "blank"
    ),
    Bad(
      "property is a list",
      withClusters("  blue:\n    properties:\n      bootstrap.servers: b\n      a: [hunter2]"),
      6,
      "property 'a'",
      "but is a list"
    ),
    Bad(
      "property is null",
      withClusters("  blue:\n    properties:\n      a:"),
      5,
      "property 'a'",
      "is empty"
    ),
    Bad(
      "property with a tag",
      withClusters("  blue:\n    properties:\n      a: !hunter2 x"),
      5,
      "not supported"
    ),
    Bad(
      "duplicate property",
      withClusters("  blue:\n    properties:\n      a: hunter2\n      b: 1\n      a: 3"),
      7,
      "cluster 'blue'",
      "'a' is given twice, first at line 5"
    ),
    Bad("bad cluster id", withClusters("  b/lue: {}"), 3, "'b/lue' is a bad id", "1 to 128 letters"),
    Bad("long cluster id", withClusters(s"  ${"b" * 129}: {}"), 3, "is a bad id"),
    Bad(
      "duplicate cluster",
      withClusters("  blue: {}\n  blue: {}"),
      4,
      "'blue' is given twice, first at line 3"
    ),
    Bad("blank stream id", "version: 1\nstreams:\n  '': {clusters: {}}", 3, "must not be blank"),
    Bad("null stream", Head, 5, "stream 'orders'", "must be a mapping, but is empty"),
    Bad("stream without clusters", Head + "    {}", 5, "stream 'orders'", "'clusters' is missing"),
    Bad("duplicate stream", Head + "    clusters: {}\n  orders: {}", 7, "'orders' is given twice"),
    Bad("unknown key of stream", Head + "    cluster: {}", 6, "stream 'orders'", "Did you mean 'clusters'?"),
    Bad(
      "unknown cluster",
      Head + "    clusters:\n      bleu: {topics: [a]}",
      7,
      "'bleu'",
      "Did you mean 'blue'?"
    ),
    Bad("null entry", inCluster(""), 7, where :+ "must be a mapping, but is empty": _*),
    Bad("empty entry", inCluster(" {}"), 7, where :+ "'topics' is missing": _*),
    Bad(
      "null topics",
      inCluster("\n        topics:"),
      8,
      where :+ "key 'topics'" :+ "a list, but is empty": _*
    ),
    Bad("empty topics", inCluster("\n        topics: []"), 8, where :+ "at least one topic": _*),
    Bad(
      "topics as text",
      inCluster("\n        topics: orders"),
      8,
      where :+ "must be a list, but is text": _*
    ),
    Bad(
      "numeric topic",
      inCluster("\n        topics:\n        - a\n        - 7"),
      10,
      where :+ "in quotes": _*
    ),
    Bad("topic is a date", inCluster(" {topics: [2026-01-01]}"), 7, where :+ "but is a date": _*),
    Bad("topic is a mapping", inCluster(" {topics: [{a: b}]}"), 7, where :+ "but is a mapping": _*),
    Bad("null topic", inCluster(" {topics: [~]}"), 7, where :+ "must be text, but is empty": _*),
    Bad(
      "bad topic",
      inCluster("\n        topics: [a,\n          b b]"),
      9,
      where :+ "'b b' is a bad topic name": _*
    ),
    Bad("duplicate topic", inCluster(" {topics: [a, a]}"), 7, where :+ "'a' is given twice": _*),
    Bad(
      "bad state",
      inCluster("\n        topics: [a]\n        state: drained"),
      9,
      where :+ "'drained' is no state": _*
    ),
    Bad("null state", inCluster("\n        topics: [a]\n        state:"), 9, where :+ "key 'state'": _*),
    Bad(
      "write is a word",
      inCluster("\n        topics: [a]\n        write: never"),
      9,
      where :+ "key 'write'" :+ "must be true or false, but is text": _*
    ),
    Bad(
      "write is text",
      inCluster("\n        topics: [a]\n        write: 'false'"),
      9,
      where :+ "key 'write'" :+ "but is text": _*
    ),
    Bad(
      "write in another spelling",
      inCluster("\n        topics: [a]\n        write: no"),
      9,
      where :+ "key 'write'" :+ "must be written 'true' or 'false'": _*
    ),
    Bad("write is a number", inCluster(" {topics: [a], write: 0}"), 7, where :+ "but is a number": _*),
    Bad("null write", inCluster("\n        topics: [a]\n        write:"), 9, where :+ "but is empty": _*),
    Bad("unknown key", inCluster("\n        topics: [a]\n        sate: x"), 9, where :+ "mean 'state'?": _*),
    Bad(
      "two ways",
      inCluster("\n        topics: [a]\n        topic_pattern: a.*"),
      9,
      where :+ "key 'topic_pattern'" :+ "is given beside 'topics'": _*
    ),
    Bad(
      "pattern and partitions",
      inCluster("\n        topic_pattern: a\n        partitions: {a: [0]}"),
      9,
      where :+ "is given beside 'topic_pattern'": _*
    ),
    Bad("blank pattern", inCluster("\n        topic_pattern: ''"), 8, where :+ "regular expression": _*),
    Bad(
      "pattern is a list",
      inCluster("\n        topic_pattern: [a]"),
      8,
      where :+ "must be text, but is a list": _*
    ),
    Bad(
      "partitions without topics",
      inCluster("\n        partitions: [0]"),
      8,
      where :+ "must be a mapping, but is a list": _*
    ),
    Bad(
      "no partitions",
      inCluster("\n        partitions: {}"),
      8,
      where :+ "partitions of at least one topic": _*
    ),
    Bad(
      "partitions of a bad topic",
      inCluster("\n        partitions: {b b: [0]}"),
      8,
      where :+ "'b b' is a bad topic name": _*
    ),
    Bad(
      "partitions of a topic: none",
      inCluster("\n        partitions:\n          a: []"),
      9,
      where :+ "at least one partition": _*
    ),
    Bad(
      "a partition is no number",
      inCluster("\n        partitions:\n          a: [0,\n            x]"),
      10,
      where :+ "number of a partition": _*
    ),
    Bad(
      "a negative partition",
      inCluster("\n        partitions:\n          a:\n          - -1"),
      10,
      where :+ "from 0 on": _*
    ),
    Bad(
      "a partition twice",
      inCluster("\n        partitions:\n          a: [0, 1,\n            00]"),
      10,
      where :+ "partition 0 is given twice": _*
    ),
    Bad(
      "times by partition",
      inCluster(" {topics: [a], stopping_offsets: 'timestamp:{\"a\": {\"0\": -1}}'}"),
      7,
      where :+ "a time in milliseconds": _*
    ),
    Bad("bad offsets", inCluster(" {topics: [a], starting_offsets: erliest}"), 7, where :+ "'erliest'": _*),
    Bad(
      "negative time",
      inCluster(" {topics: [a], stopping_offsets: -1}"),
      7,
      where :+ "'-1' cannot be used": _*
    ),
    Bad("empty offsets", inCluster(" {topics: [a], starting_offsets: {}}"), 7, where :+ "names no topic": _*),
    Bad(
      "offset is no number",
      inCluster("\n        topics: [a]\n        starting_offsets:\n          a:\n            0: x"),
      11,
      where :+ "topic 'a'" :+ "partition '0'" :+ "whole number": _*
    ),
    Bad(
      "offset out of range",
      inCluster("\n        topics: [a]\n        starting_offsets: {a: {0: -3}}"),
      9,
      where :+ "key 'starting_offsets'" :+ "-3 is not an offset": _*
    ),
    Bad(
      "offsets in two spellings",
      inCluster("\n        topics: [a]\n        starting_offsets: latest\n        startingOffsets: latest"),
      10,
      where :+ "the same as 'starting_offsets'": _*
    ),
    Bad("Flink: no streamId", "- clusterMetadataList: []\n", 1, "'streamId' is missing"),
    Bad("Flink: no list", "- streamId: a\n", 1, "stream 'a'", "'clusterMetadataList' is missing"),
    Bad("Flink: unknown key", "- streamId: a\n  clusters: []\n", 2, "'clusters'"),
    Bad("Flink: scalar", "- a\n", 1, "must be a mapping, but is text"),
    Bad(
      "Flink: duplicate stream",
      "- {streamId: a, clusterMetadataList: []}\n- {streamId: a, clusterMetadataList: []}",
      2,
      "'a' is given twice"
    ),
    Bad(
      "Flink: address can't be an id",
      "- streamId: a\n  clusterMetadataList:\n  - {bootstrapServers: 'b:9092', topics: [a]}",
      3,
      "stream 'a'",
      "'clusterId' is missing",
      "'b:9092'",
      "1 to 128 letters"
    ),
    Bad(
      "Flink: duplicate cluster",
      "- streamId: a\n  clusterMetadataList:\n  - &x {clusterId: b, bootstrapServers: b, topics: [a]}\n  - *x",
      3,
      "cluster 'b' is given twice"
    ),
    Bad(
      "Flink: no topics",
      "- streamId: a\n  clusterMetadataList:\n  - clusterId: b\n    bootstrapServers: b\n    topics: []",
      5,
      "stream 'a'",
      "cluster 'b'",
      "key 'topics'"
    ),
    Bad("JSON cut off", "{\"version\": 1,\n \"streams\": {", 2, "no YAML or JSON", "stream end"),
    Bad("two documents", "version: 1\n---\nversion: 1", 2, "another document"),
    Bad("tab indentation", "version: 1\nstreams:\n\ta: 1", 3, "no YAML or JSON", "TAB"),
    Bad("control character", "version: 1\nstreams: \u0001", 2, "not allowed"),
    Bad("key that is no text", "version: 1\n? [a]\n: b", 2, "a key must be text"),
    Bad("merge of itself", "version: 1\nstreams: &s\n  <<: *s\n", 2, "merged into itself"),
    Bad("merge of text", "version: 1\nstreams:\n  <<: text\n", 3, "'<<' must name a mapping"),
    Bad("secret taken for an alias", "version: 1\nclusters: {a: *hunter2 }", 2, "undefined alias"),
    Bad("secret taken for a tag", "version: 1\nclusters: {a: !hunter2!b }", 2, "undefined tag handle"),
    Bad(
      "secret taken for a global tag",
      "version: 1\nclusters: {a: !!hunter2 b}",
      2,
      "no YAML or JSON",
      "not allowed"
    ),
    Bad("unquoted secret", "version: 1\nclusters:\n  a: hunter2: x", 3, "mapping values")
  )

  table.foreach { bad =>
    test(bad.title) {
      val e = intercept[DynamicKafkaIllegalArgumentException] {
        MetadataDocument.parse(bad.document, "file streams.yaml")
      }
      assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
      val text = e.getMessage
      assert(text.matches(s"(?s).*file streams\\.yaml, line ${bad.line}[,:].*"), text)
      bad.says.foreach(s => assert(text.contains(s), text))
      assert(!text.contains("hunter2"), "a value is printed")
      assert(e.getCause == null, "the parser's own exception quotes the document")
    }
  }

  test("an empty document has no line") {
    Seq("", "  \n", "# only a comment\n").foreach { document =>
      val e = intercept[DynamicKafkaIllegalArgumentException](MetadataDocument.parse(document, "file a"))
      assert(e.getMessage.contains("file a: the document is empty"))
    }
  }

  test("aliases that multiply and documents without end are refused") {
    val bomb = "a: &a [x]\n" + ('b' to 'z').map { c =>
      val p = (c - 1).toChar
      s"$c: &$c [*$p,*$p,*$p,*$p]"
    }.mkString("\n")
    Seq(bomb, "version: '" + "x" * 4000000 + "'\nstreams: {}", "[" * 200).foreach { document =>
      val e = intercept[DynamicKafkaIllegalArgumentException](MetadataDocument.parse(document, "file a"))
      assert(e.getMessage.contains("no YAML or JSON"), e.getMessage.take(300))
    }
  }
}
