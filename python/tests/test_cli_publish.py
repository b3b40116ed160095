"""What ``publish`` writes, and what it refuses before it asks a broker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.metadata_file.document import read
from dynamic_kafka._tools.metadata_file.records import records

FILE = """
version: 1
clusters:
  blue:
    properties: &common {security.protocol: PLAINTEXT, bootstrap.servers: "blue:9092"}
  green:
    properties: {<<: *common, bootstrap.servers: "green:9092"}
streams:
  orders:
    format: json
    schema: id BIGINT
    clusters:
      blue: {topics: [orders], write: true}
  payments:
    clusters:
      blue: {topic_pattern: "pay-.*"}
      green: {topics: [pay-eu], state: draining}
"""


def run(tmp_path: Path, *arguments: str, text: str = FILE) -> Result:
    file = tmp_path / "streams.yaml"
    file.write_text(text)
    address = ("--bootstrap-servers", "localhost:1", "--topic", "streams")
    return CliRunner().invoke(app, ["publish", str(file), *address, *arguments])


def test_a_record_is_a_document_with_one_stream_and_its_clusters() -> None:
    found = records(FILE)
    assert list(found) == ["orders", "payments"]
    orders = json.loads(found["orders"])
    assert orders["version"] == 1
    assert orders["clusters"] == {
        "blue": {"properties": {"security.protocol": "PLAINTEXT", "bootstrap.servers": "blue:9092"}}
    }
    assert orders["streams"]["orders"]["clusters"] == {"blue": {"topics": ["orders"], "write": True}}
    green = json.loads(found["payments"])["clusters"]["green"]["properties"]
    assert green == {"security.protocol": "PLAINTEXT", "bootstrap.servers": "green:9092"}


def test_each_record_means_what_the_file_means() -> None:
    whole = read(FILE)
    assert whole.errors == []
    for id, record in records(FILE).items():
        one = read(record)
        assert one.errors == []
        assert one.streams == {id: whole.streams[id]}


@pytest.mark.parametrize(
    ("arguments", "change", "reason"),
    [
        ((), ("topics: [orders]", "topic: [orders]"), "there is no such key here"),
        (("--stream", "order"), ("", ""), "there is no stream 'order'; the streams are orders, payments"),
        (("--remove", "orders"), ("", ""), "stream 'orders' is in the file"),
    ],
)
def test_refusals(tmp_path: Path, arguments: tuple[str, ...], change: tuple[str, str], reason: str) -> None:
    result = run(tmp_path, *arguments, text=FILE.replace(*change))
    assert result.exit_code == 1
    assert reason in result.output


def test_a_list_of_flink_is_refused(tmp_path: Path) -> None:
    flink = "- streamId: orders\n  clusterMetadataList:\n    - clusterId: blue\n      bootstrapServers: b:1\n"
    result = run(tmp_path, text=flink + "      topics: [orders]\n")
    assert result.exit_code == 1
    assert "a file in the format of Flink cannot be published" in result.output


def test_a_property_without_a_value_is_wrong_usage(tmp_path: Path) -> None:
    result = run(tmp_path, "--property", "security.protocol")
    assert result.exit_code == 2
    assert "'security.protocol' is not NAME=VALUE" in result.output


def test_no_broker(tmp_path: Path) -> None:
    result = run(tmp_path, "--timeout", "0.5")
    assert result.exit_code == 1
    assert "topic streams: " in result.output
