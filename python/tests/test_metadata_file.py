"""Messages of ``validate`` that the connector does not have; the common ones are in tests/conformance."""

from __future__ import annotations

import json

import pytest

from dynamic_kafka._tools.metadata_file.document import read
from dynamic_kafka._tools.metadata_file.schema import schema_text

GOOD = """version: 1
clusters:
  green:
    properties: {bootstrap.servers: "green:9092", client.id: "0123"}
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


def test_a_good_document_has_no_warnings() -> None:
    document = read(GOOD)
    assert not document.errors
    assert not document.warnings
    assert list(document.streams) == ["payments", "orders"]


def test_all_errors_are_reported_in_the_order_of_the_lines() -> None:
    text = (
        GOOD.replace("draining", "drained").replace("[payments]", "[payments, no]").replace("green: {", "grin: {")
    )
    errors = read(text).errors
    assert [error.line for error in errors] == [10, 12, 13]


def test_a_value_of_two_meanings_is_reported_once() -> None:
    errors = read(GOOD.replace("version: 1", "version: 01").replace("[orders]", "[no, yes]")).errors
    assert [error.line for error in errors] == [1, 18, 18]


def test_a_document_beyond_the_limits() -> None:
    for text in ("version: '" + "x" * 4_000_000 + "'\nstreams: {}", "[" * 200):
        (error,) = read(text).errors
        assert error.reason.startswith("the document is not valid YAML or JSON: it has more than")


def test_numbers_with_thousands_of_digits() -> None:
    digits = "9" * 5000
    (error,) = read(GOOD.replace("1763700000000", digits)).errors
    assert error.line == 10
    assert (
        read(GOOD.replace('"0123"', digits)).streams["payments"].clusters["green"].properties["client.id"]
        == digits
    )


def test_warnings() -> None:
    text = GOOD.replace("  blue:\n    prop", "  red: {properties: {bootstrap.servers: r:1}}\n  blue:\n    prop", 1)
    text = text.replace('client.id: "0123"', "kafka.client.id: x") + "  empty: {clusters: {}}\n"
    document = read(text)
    assert not document.errors
    assert [warning.text("f") for warning in document.warnings] == [
        "f:4: cluster 'green', property 'kafka.client.id': properties have no prefix here: write 'client.id'",
        "f:5: cluster 'red': no stream uses this cluster",
        "f:20: stream 'empty': it has no cluster: polls of queries that read it fail, unless "
        "allowMissingStreams is true",
    ]


@pytest.mark.parametrize(
    ("schema", "wrong"),
    [
        ("id BIGNT", [("BIGNT", " Did you mean 'BIGINT'?")]),
        ("`a b`: strin NOT NULL COMMENT 'an, or', x qqqq", [("strin", " Did you mean 'STRING'?"), ("qqqq", "")]),
        (
            "a ARRAY<STRUCT<b: MAP<STRING, intt>, c DECIMAL(10, 2)>>, d tex",
            [("intt", " Did you mean 'INT'?"), ("tex", "")],
        ),
        ("a INTERVAL DAY TO SECOND, b STRING COLLATE UTF8_LCASE, c TIME(6), d VARCHAR(3)", []),
        ("a DECIMAL(10, 2) NOT NULL, b TIMESTAMP_NTZ, c struct<d: variant>", []),
        ("größe BIGINT, _1 INT", []),
        # Not columns.
        ("registry", []),
        ("STRUCT<a: INT>", []),
        ('{"type": "record", "name": "A", "fields": []}', []),
        ("a", []),
        ("a ARRAY<", []),
        (", b c", []),
    ],
)
def test_types_of_a_schema(schema: str, wrong: list[tuple[str, str]]) -> None:
    place = "streams: {a: {"
    document = read(_one_cluster("a:1").replace(place, f"{place}schema: {json.dumps(schema)}, "))
    assert not document.errors
    found = [warning.reason for warning in document.warnings]
    assert found == [f"'{word}' is not a type of Spark.{hint}" for word, hint in wrong]


@pytest.mark.parametrize("address", ["localhost", "localhost:abc", "localhost:65536", ":9092", "a:1,b", "a:1 b:2"])
def test_an_address_with_which_no_client_connects(address: str) -> None:
    (warning,) = read(_one_cluster(address)).warnings
    wrong = address.removeprefix("a:1,")
    assert (warning.line, warning.reason) == (3, f"'{wrong}' is not host:port, so that no client can connect")
    entry = f"{{clusterId: blue, bootstrapServers: '{address}', topics: [a]}}"
    (of_flink,) = read(f"- {{streamId: a, clusterMetadataList: [{entry}]}}").warnings
    assert of_flink.reason == warning.reason


@pytest.mark.parametrize(
    "address",
    [
        "a:1",
        "a:1, b:2",
        "a:1,,b:2,",
        "[::1]:9092",
        "SSL://a.b-c_d:1",
        "${file:/etc/kafka/blue.properties:address}",
    ],
)
def test_an_address_that_clients_can_read(address: str) -> None:
    assert read(_one_cluster(address)).warnings == []


def _one_cluster(address: str) -> str:
    cluster = f"version: 1\nclusters:\n  blue: {{properties: {{bootstrap.servers: '{address}'}}}}\n"
    return cluster + "streams: {a: {clusters: {blue: {topics: [a]}}}}\n"


def test_flink_streams_with_two_addresses_of_one_cluster() -> None:
    entry = "  clusterMetadataList: [{clusterId: blue, bootstrapServers: %s, topics: [a]}]\n"
    document = read("- streamId: a\n" + entry % "b1:1" + "- streamId: b\n" + entry % "b2:1")
    (warning,) = document.warnings
    assert (warning.line, warning.place.stream, warning.place.cluster) == (4, "b", "blue")
    assert "stream 'a' specifies a different address for this cluster" in warning.reason


def test_a_flink_stream_without_clusters() -> None:
    (warning,) = read("- {streamId: payments, clusterMetadataList: []}\n").warnings
    assert warning.place.stream == "payments"


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


def test_the_schema_is_valid() -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
