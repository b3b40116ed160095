"""Metadata files are judged as the connector judges them."""

from __future__ import annotations

import json
import re

import pytest
from bad_documents import GOOD, TABLE, Bad
from conftest import REPOSITORY

from dynamic_kafka._tools.metadata_file.document import read
from dynamic_kafka._tools.metadata_file.schema import schema_text

SUITE = REPOSITORY / "jvm/connector/src/test/scala/io/github/dynamickafka/metadata/BadDocumentSuite.scala"


@pytest.mark.parametrize("bad", TABLE, ids=str)
def test_what_the_connector_refuses_is_refused_at_the_same_line(bad: Bad) -> None:
    errors = read(bad.document).errors
    texts = [error.text("streams.yaml") for error in errors if error.line == bad.line]
    assert any(all(said in text for said in bad.says) for text in texts), errors
    assert "hunter2" not in str(errors)


def test_the_table_has_every_document_of_the_connectors_suite() -> None:
    titles = set(re.findall(r'Bad\(\s*"((?:[^"\\]|\\.)+)"', SUITE.read_text()))
    assert len(titles) > 60
    assert titles == {bad.title for bad in TABLE}


@pytest.mark.parametrize("document", ["", "  \n", "# only a comment\n"])
def test_an_empty_document_has_no_line(document: str) -> None:
    (error,) = read(document).errors
    assert error.text("a.yaml") == "a.yaml: the document is empty"


def test_aliases_that_multiply_and_documents_without_end() -> None:
    letters = "bcdefghijklmnopqrstuvwxyz"
    bomb = "a: &a [x]\n" + "\n".join(
        f"{c}: &{c} [{', '.join([f'*{p}'] * 4)}]" for p, c in zip("a" + letters, letters, strict=False)
    )
    for document in (bomb, "version: '" + "x" * 4_000_000 + "'\nstreams: {}", "[" * 200):
        (error,) = read(document).errors
        assert error.reason.startswith("this is no YAML or JSON: it has more than")


@pytest.mark.parametrize(
    ("positions", "says"),
    [
        ('\'{"a": {"0": 1, "0": 2}}\'', "twice"),
        ('\'{"a": {"0": 1, "00": 2}}\'', "partition 0 twice"),
        ('\'{"a": {"0": 1.5}}\'', "offset of 0 or more"),
        ('\'{"a": {"0": true}}\'', "offset of 0 or more"),
        ('\'{"a": {"0": NaN}}\'', "NaN"),
        ("'{\"a\": {}}'", "cluster 'a' has no topic"),
        ('\'{"b": {"a": {}}}\'', "topic 'a' has no object"),
        ('\'{"b": {"a": {"0": 1}}, "a": {"0": 1}}\'', "stands beside clusters"),
        ('\'{"a": {"0": 1}\'', "cannot be read as JSON"),
        ("'{}'", "names no topic"),
        ("timestamp:99999999999999999999", "too large"),
        ("{a: {0: 0x10}}", "whole number"),
        ("{a: {0: 99999999999999999999}}", "whole number"),
        ("{a: {b: 1}}", "'b' is a bad partition"),
        ("{a: 5}", "must be a mapping"),
        ("true", "but is true or false"),
        ("1.0", "none of 'earliest'"),
    ],
)
def test_positions_that_say_nothing(positions: str, says: str) -> None:
    entry = f"{{topics: [a], starting_offsets: {positions}}}"
    text = GOOD.replace("{topics: [orders]}", entry)
    (error,) = read(text).errors
    assert error.line == text.splitlines().index(f"      blue: {entry}") + 1
    assert says in error.reason
    assert (error.place.stream, error.place.cluster) == ("orders", "blue")


@pytest.mark.parametrize(
    "positions", ["Earliest", "' latest '", "5", "TIMESTAMP:5", '\'{"blue": {"a": {"1": -2}}}\'']
)
def test_positions_in_other_spellings(positions: str) -> None:
    assert not read(GOOD.replace("{topics: [orders]}", f"{{topics: [a], starting_offsets: {positions}}}")).errors


def test_an_end_at_the_beginning() -> None:
    (error,) = read(GOOD.replace("stopping_offsets: latest", "stopping_offsets: earliest")).errors
    assert "'earliest' is a bad end" in error.reason


def test_all_errors_are_told_at_once_in_the_order_of_the_lines() -> None:
    text = (
        GOOD.replace("draining", "drained").replace("[payments]", "[payments, 7]").replace("green: {", "grin: {")
    )
    errors = read(text).errors
    assert [error.line for error in errors] == [10, 12, 13]


def test_the_streams_of_a_good_document() -> None:
    document = read(GOOD)
    assert not document.errors
    assert not document.warnings
    assert list(document.streams) == ["payments", "orders"]
    payments = document.streams["payments"].clusters
    assert list(payments) == ["green", "blue"]
    green, blue = payments["green"], payments["blue"]
    assert green.topics == ("payments", "payments.v2")
    assert green.properties == {
        "bootstrap.servers": "green:9092",
        "client.id": "0123",
        "enable.auto.commit": "no",
    }
    assert (green.starting_offsets, green.stopping_offsets, green.state) == ("1763700000000", None, "active")
    assert blue.starting_offsets == '{"payments":{"0":42,"1":7}}'
    assert (blue.stopping_offsets, blue.state) == ("latest", "draining")
    assert blue.properties["sasl.jaas.config"] == "${file:/etc/blue.properties:jaas}"


def test_a_cluster_that_takes_no_writes() -> None:
    text = GOOD.replace("state: draining", "state: draining\n        write: false")
    document = read(text.replace("{topics: [orders]}", "{topics: [orders], write: true}"))
    assert not document.errors
    written = {
        id: {cluster: entry.write for cluster, entry in s.clusters.items()} for id, s in document.streams.items()
    }
    assert written == {"payments": {"green": True, "blue": False}, "orders": {"blue": True}}


def test_json_with_the_tabs_and_slashes_that_yaml_does_not_know() -> None:
    text = (
        '\n{\t"version":\t1,\n\t"clusters": {"blue": {"properties": {"bootstrap.servers": "b:1",'
        '\n\t"ssl.truststore.location": "\\/etc\\/t", "a": "back\\\\/slash", "n": 5, "t": true}}},'
        '\n\t"streams": {"orders": {"clusters": {"blue": {"topics": ["orders"]}}}}}'
    )
    assert read(text).streams["orders"].clusters["blue"].properties == {
        "bootstrap.servers": "b:1",
        "ssl.truststore.location": "/etc/t",
        "a": "back\\/slash",
        "n": "5",
        "t": "true",
    }


def test_flinks_list_of_streams() -> None:
    document = read(
        "- streamId: orders\n"
        "  clusterMetadataList:\n"
        "    - {clusterId: blue, bootstrapServers: 'blue:9092', topics: [orders, orders2]}\n"
        "    - {bootstrapServers: green, topics: [orders]}\n"
        "- {streamId: payments, clusterMetadataList: []}\n"
    )
    assert not document.errors
    orders = document.streams["orders"].clusters
    assert list(orders) == ["blue", "green"]
    assert orders["blue"].topics == ("orders", "orders2")
    assert orders["green"].properties == {"bootstrap.servers": "green"}
    assert [warning.place.stream for warning in document.warnings] == ["payments"]


def test_anchors_aliases_and_merge_keys() -> None:
    document = read(
        "version: 1\n"
        "clusters:\n"
        "  blue: {properties: &common {bootstrap.servers: 'b:1', security.protocol: SSL}}\n"
        "  green: {properties: {<<: *common, bootstrap.servers: 'g:1'}}\n"
        "streams:\n"
        "  orders: {clusters: {green: {topics: &t [orders]}, blue: {topics: *t}}}\n"
    )
    orders = document.streams["orders"].clusters
    assert orders["green"].properties == {"bootstrap.servers": "g:1", "security.protocol": "SSL"}
    assert orders["blue"].topics == ("orders",)


@pytest.mark.parametrize(
    "document",
    [
        "version: 1\nstreams: {}",
        "version: '1'\nstreams: {}",
        "version: 1\t# a tab after a value\nstreams: {}",
        "[]",
    ],
)
def test_no_streams_at_all_is_a_document(document: str) -> None:
    assert not read(document).errors


def test_what_is_odd() -> None:
    text = GOOD.replace("  blue:\n    prop", "  red: {properties: {bootstrap.servers: r}}\n  blue:\n    prop", 1)
    text = text.replace("client.id: 0123", "kafka.client.id: x") + "  empty: {clusters: {}}\n"
    document = read(text)
    assert not document.errors
    assert [warning.text("f") for warning in document.warnings] == [
        "f:4: cluster 'green', property 'kafka.client.id': properties have no prefix here: write 'client.id'",
        "f:5: cluster 'red': no stream is on this cluster",
        "f:20: stream 'empty': it has no cluster: a query takes that for a failure unless "
        "allowMissingStreams is true",
    ]


def test_flink_streams_that_disagree_about_an_address() -> None:
    entry = "  clusterMetadataList: [{clusterId: blue, bootstrapServers: %s, topics: [a]}]\n"
    document = read("- streamId: a\n" + entry % "b1" + "- streamId: b\n" + entry % "b2")
    (warning,) = document.warnings
    assert (warning.line, warning.place.stream, warning.place.cluster) == (4, "b", "blue")
    assert "stream 'a' gives this cluster another address" in warning.reason


def test_a_problem_as_json() -> None:
    text = GOOD.replace('"${file:/etc/blue.properties:jaas}"', "[hunter2]")
    (error,) = read(text).errors
    assert error.to_json("s.yaml") == {
        "file": "s.yaml",
        "line": 6,
        "stream": None,
        "cluster": "blue",
        "key": "sasl.jaas.config",
        "message": "must be text, a number or true or false, but is a list",
    }


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ("version: 1\nclusters: {a: {properties: {p: !!hunter2 x}}}", "a tag that is not allowed"),
        ('version: 1\nstreams: {"a\\/b": {}}', "escape character '/'"),
        ('version: 1\nstreams: {"\\U00110000": {}}', "an escape that names no character"),
        ("version: 1\nstreams: &x {clusters: *x}", "but is a part of itself"),
        ("version: 1\nstreams: {}\t", r"found character '\t'"),
    ],
)
def test_what_only_one_of_two_parsers_would_take(document: str, says: str) -> None:
    (error,) = read(document).errors
    assert error.line == 2
    assert says in error.reason
    assert "hunter2" not in error.reason


def test_a_topic_that_is_a_number_only_for_the_connector() -> None:
    (error,) = read(GOOD.replace("[orders]", "[1e5]")).errors
    assert "but is a number: put it in quotes" in error.reason


def test_the_schema_is_one() -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_topics_by_pattern_and_by_partition() -> None:
    text = GOOD.replace("topics: [orders]", r"topic_pattern: 'orders-\p{Alnum}+'").replace(
        "topics: [payments, payments.v2]", "partitions: {payments: [3, 0], payments.v2: ['1']}"
    )
    document = read(text)
    assert not document.errors
    orders = document.streams["orders"].clusters["blue"]
    assert (orders.topics, orders.topic_pattern, orders.partitions) == ((), r"orders-\p{Alnum}+", None)
    green = document.streams["payments"].clusters["green"]
    assert (green.topics, green.partitions) == ((), {"payments": (0, 3), "payments.v2": (1,)})


def test_times_by_partition() -> None:
    times = '\'timestamp:{"a": {"0": 1763700000000}}\''
    assert not read(GOOD.replace("{topics: [orders]}", f"{{topics: [a], starting_offsets: {times}}}")).errors
