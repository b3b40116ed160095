"""The documents of the connector's BadDocumentSuite: ``validate`` has to refuse them at the same line."""

from __future__ import annotations

from dataclasses import dataclass

GOOD = """version: 1
clusters:
  green:
    properties: {bootstrap.servers: "green:9092", client.id: 0123, enable.auto.commit: no}
  blue:
    properties: {bootstrap.servers: "blue:9092", sasl.jaas.config: "${file:/etc/blue.properties:jaas}"}
streams:
  payments:
    clusters:
      green: {topics: [payments, payments.v2], startingOffsets: 1763700000000}
      blue:
        topics: [payments]
        state: draining
        starting_offsets: {payments: {1: 7, 0: 42}}
        stopping_offsets: latest
  orders:
    clusters:
      blue: {topics: [orders]}
"""

HEAD = "version: 1\nclusters:\n  blue: {properties: {bootstrap.servers: 'b:1'}}\nstreams:\n  orders:\n"
WHERE = ("stream 'orders'", "cluster 'blue'")


@dataclass(frozen=True)
class Bad:
    """One document, the line that an error must name, and what that error must say."""

    title: str
    document: str
    line: int
    says: tuple[str, ...]

    def __str__(self) -> str:
        return self.title


def _bad(title: str, document: str, line: int, *says: str) -> Bad:
    return Bad(title, document, line, says)


def _entry(title: str, entry: str, line: int, *says: str) -> Bad:
    """Six lines stand before the entry."""
    return Bad(title, f"{HEAD}    clusters:\n      blue:{entry}\n", line, (*WHERE, *says))


def _clusters(title: str, clusters: str, line: int, *says: str) -> Bad:
    return Bad(title, f"version: 1\nclusters:\n{clusters}\nstreams: {{}}\n", line, says)


def _flink(title: str, clusters: str, line: int, *says: str) -> Bad:
    return Bad(title, f"- streamId: a\n  clusterMetadataList:\n{clusters}", line, says)


TABLE = [
    _bad("scalar document", "hello", 1, "must be a mapping, but is text"),
    _bad("null document", "~", 1, "must be a mapping, but is empty"),
    _bad("no version", "clusters: {}\nstreams: {}", 1, "'version' is missing"),
    _bad("unknown version", "# c\nversion: 2\nstreams: {}", 2, "key 'version'", "reads version 1"),
    _bad("version of a wrong type", "version: [1]\nstreams: {}", 1, "key 'version'", "but is a list"),
    _bad("version not an integer", "version: 1.0\nstreams: {}", 1, "version 1.0 is not known"),
    _bad("no streams", "version: 1\nclusters: {}", 1, "'streams' is missing"),
    _bad("null streams", "version: 1\nstreams:\n", 2, "key 'streams'", "must be a mapping, but is empty"),
    _bad("streams as list", "version: 1\nstreams:\n- a", 2, "must be a mapping, but is a list"),
    _bad("unknown key on top", "version: 1\nstream: {}\n", 2, "key 'stream'", "Did you mean 'streams'?"),
    _bad("duplicate top key", "version: 1\nstreams: {}\nstreams: {}", 3, "'streams' is given twice", "at line 2"),
    _clusters("cluster null", "  blue:", 3, "cluster 'blue'", "must be a mapping, but is empty"),
    _clusters("cluster without properties", "  blue: {}", 3, "cluster 'blue'", "'properties' is missing"),
    _clusters("properties null", "  blue:\n    properties:", 4, "cluster 'blue'", "key 'properties'"),
    _clusters("property key of cluster", "  blue: {propertes: {}}", 3, "Did you mean 'properties'?"),
    _clusters("no bootstrap", "  blue:\n    properties:\n      a: 1", 4, "'bootstrap.servers' is missing"),
    _clusters(
        "blank bootstrap",
        "  blue:\n    properties:\n      bootstrap.servers: ' '",
        5,
        "cluster 'blue'",
        "property 'bootstrap.servers'",
        "blank",
    ),
    _clusters(
        "property is a list",
        "  blue:\n    properties:\n      bootstrap.servers: b\n      a: [hunter2]",
        6,
        "property 'a'",
        "but is a list",
    ),
    _clusters("property is null", "  blue:\n    properties:\n      a:", 5, "property 'a'", "is empty"),
    _clusters("property with a tag", "  blue:\n    properties:\n      a: !hunter2 x", 5, "not supported"),
    _clusters(
        "duplicate property",
        "  blue:\n    properties:\n      a: hunter2\n      b: 1\n      a: 3",
        7,
        "cluster 'blue'",
        "'a' is given twice, first at line 5",
    ),
    _clusters("bad cluster id", "  b/lue: {}", 3, "'b/lue' is a bad cluster id", "1 to 128 letters"),
    _clusters("long cluster id", f"  {'b' * 129}: {{}}", 3, "is a bad cluster id"),
    _clusters("duplicate cluster", "  blue: {}\n  blue: {}", 4, "'blue' is given twice, first at line 3"),
    _bad("blank stream id", "version: 1\nstreams:\n  '': {clusters: {}}", 3, "must not be blank"),
    _bad("null stream", HEAD, 5, "stream 'orders'", "must be a mapping, but is empty"),
    _bad("stream without clusters", HEAD + "    {}", 5, "stream 'orders'", "'clusters' is missing"),
    _bad("duplicate stream", HEAD + "    clusters: {}\n  orders: {}", 7, "'orders' is given twice"),
    _bad("unknown key of stream", HEAD + "    cluster: {}", 6, "stream 'orders'", "Did you mean 'clusters'?"),
    _bad(
        "unknown cluster", HEAD + "    clusters:\n      bleu: {topics: [a]}", 7, "'bleu'", "Did you mean 'blue'?"
    ),
    _entry("null entry", "", 7, "must be a mapping, but is empty"),
    _entry("empty entry", " {}", 7, "'topics' is missing"),
    _entry("null topics", "\n        topics:", 8, "key 'topics'", "a list, but is empty"),
    _entry("empty topics", "\n        topics: []", 8, "at least one topic"),
    _entry("topics as text", "\n        topics: orders", 8, "must be a list, but is text"),
    _entry("numeric topic", "\n        topics:\n        - a\n        - 7", 10, "in quotes"),
    _entry("topic is a date", " {topics: [2026-01-01]}", 7, "but is a date"),
    _entry("topic is a mapping", " {topics: [{a: b}]}", 7, "but is a mapping"),
    _entry("null topic", " {topics: [~]}", 7, "must be text, but is empty"),
    _entry("bad topic", "\n        topics: [a,\n          b b]", 9, "'b b' is a bad topic name"),
    _entry("duplicate topic", " {topics: [a, a]}", 7, "'a' is given twice"),
    _entry("bad state", "\n        topics: [a]\n        state: drained", 9, "'drained' is a bad state"),
    _entry("null state", "\n        topics: [a]\n        state:", 9, "key 'state'"),
    _entry(
        "write is a word", "\n        topics: [a]\n        write: never", 9, "must be true or false, but is text"
    ),
    _entry("write is text", "\n        topics: [a]\n        write: 'false'", 9, "key 'write'", "but is text"),
    _entry("write in another spelling", "\n        topics: [a]\n        write: no", 9, "must be written 'true'"),
    _entry("write is a number", " {topics: [a], write: 0}", 7, "but is a number"),
    _entry("null write", "\n        topics: [a]\n        write:", 9, "but is empty"),
    _entry("unknown key", "\n        topics: [a]\n        sate: x", 9, "mean 'state'?"),
    _entry("two ways", "\n        topics: [a]\n        topic_pattern: a.*", 9, "is given beside 'topics'"),
    _entry("pattern and partitions", "\n        topic_pattern: a\n        partitions: {a: [0]}", 9, "beside"),
    _entry("blank pattern", "\n        topic_pattern: ''", 8, "regular expression"),
    _entry("pattern is a list", "\n        topic_pattern: [a]", 8, "must be text, but is a list"),
    _entry("partitions without topics", "\n        partitions: [0]", 8, "must be a mapping, but is a list"),
    _entry("no partitions", "\n        partitions: {}", 8, "partitions of at least one topic"),
    _entry("partitions of a bad topic", "\n        partitions: {b b: [0]}", 8, "'b b' is a bad topic name"),
    _entry("partitions of a topic: none", "\n        partitions:\n          a: []", 9, "at least one partition"),
    _entry("a partition is no number", "\n        partitions:\n          a: [0,\n            x]", 10, "number"),
    _entry("a negative partition", "\n        partitions:\n          a:\n          - -1", 10, "from 0 on"),
    _entry(
        "a partition twice", "\n        partitions:\n          a: [0, 1,\n            00]", 10, "0 is given twice"
    ),
    _entry(
        "times by partition", ' {topics: [a], stopping_offsets: \'timestamp:{"a": {"0": -1}}\'}', 7, "a time in"
    ),
    _entry("bad offsets", " {topics: [a], starting_offsets: erliest}", 7, "'erliest'"),
    _entry("negative time", " {topics: [a], stopping_offsets: -1}", 7, "'-1' is a bad end"),
    _entry("empty offsets", " {topics: [a], starting_offsets: {}}", 7, "offsets by topic"),
    _entry(
        "offset is no number",
        "\n        topics: [a]\n        starting_offsets:\n          a:\n            0: x",
        11,
        "topic 'a'",
        "partition '0'",
        "whole number",
    ),
    _entry(
        "offset out of range",
        "\n        topics: [a]\n        starting_offsets: {a: {0: -3}}",
        9,
        "key 'starting_offsets'",
        "'-3' is a bad offset",
    ),
    _entry(
        "offsets in two spellings",
        "\n        topics: [a]\n        starting_offsets: latest\n        startingOffsets: latest",
        10,
        "the same as 'starting_offsets'",
    ),
    _bad("Flink: no streamId", "- clusterMetadataList: []\n", 1, "'streamId' is missing"),
    _bad("Flink: no list", "- streamId: a\n", 1, "stream 'a'", "'clusterMetadataList' is missing"),
    _bad("Flink: unknown key", "- streamId: a\n  clusters: []\n", 2, "'clusters'"),
    _bad("Flink: scalar", "- a\n", 1, "must be a mapping, but is text"),
    _bad(
        "Flink: duplicate stream",
        "- {streamId: a, clusterMetadataList: []}\n- {streamId: a, clusterMetadataList: []}",
        2,
        "'a' is given twice",
    ),
    _flink(
        "Flink: address can't be an id",
        "  - {bootstrapServers: 'b:9092', topics: [a]}",
        3,
        "stream 'a'",
        "'clusterId' is missing",
        "'b:9092'",
        "1 to 128 letters",
    ),
    _flink(
        "Flink: duplicate cluster",
        "  - &x {clusterId: b, bootstrapServers: b, topics: [a]}\n  - *x",
        3,
        "cluster 'b' is given twice",
    ),
    _flink(
        "Flink: no topics",
        "  - clusterId: b\n    bootstrapServers: b\n    topics: []",
        5,
        "stream 'a'",
        "cluster 'b'",
        "key 'topics'",
    ),
    _bad("JSON cut off", '{"version": 1,\n "streams": {', 2, "no YAML or JSON", "stream end"),
    _bad("two documents", "version: 1\n---\nversion: 1", 2, "another document"),
    _bad("tab indentation", "version: 1\nstreams:\n\ta: 1", 3, "no YAML or JSON", r"'\t'"),
    _bad("control character", "version: 1\nstreams: \u0001", 2, "not allowed"),
    _bad("key that is no text", "version: 1\n? [a]\n: b", 2, "a key must be text"),
    _bad("merge of itself", "version: 1\nstreams: &s\n  <<: *s\n", 2, "merged into itself"),
    _bad("merge of text", "version: 1\nstreams:\n  <<: text\n", 3, "'<<' must name a mapping"),
    _bad("secret taken for an alias", "version: 1\nclusters: {a: *hunter2 }", 2, "undefined alias"),
    _bad("secret taken for a tag", "version: 1\nclusters: {a: !hunter2!b }", 2, "undefined tag handle"),
    _bad(
        "secret taken for a global tag",
        "version: 1\nclusters: {a: !!hunter2 b}",
        2,
        "no YAML or JSON",
        "not allowed",
    ),
    _bad("unquoted secret", "version: 1\nclusters:\n  a: hunter2: x", 3, "mapping values"),
]
