"""A slip in a call of a builder is found by a type checker, and by the connector in that call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from dynamic_kafka import DynamicKafka, DynamicKafkaReaderBuilder, DynamicKafkaWriterBuilder
from mypy import api
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.harness import typed_program
from tests.harness.session import session

INTERVAL = "streamMetadataDiscoveryIntervalMs"
PROGRAM = Path(typed_program.__file__)
SLIPS = {
    'set_starting_offsets("earliest")': 'set_starting_offsets("earlist")',
    'set_format("json")': 'set_format("jsn")',
    'set_change_data("upsert")': 'set_change_data("upserts")',
    'set_parse_errors("keep")': 'set_parse_errors("kep")',
    '"maxOffsetsPerTrigger", 1000': '"maxOffsetPerTrigger", 1000',
    'set_cluster_routing("first")': 'set_cluster_routing("frist")',
    'set_write_failover("next")': 'set_write_failover("none ")',
    'set_cluster_distribution("off")': 'set_cluster_distribution("on")',
    'set_delivery_guarantee("at-least-once")': 'set_delivery_guarantee("at_least_once")',
    'set_partitioner("round-robin")': 'set_partitioner("round_robin")',
    '"commitTimeoutMs"': '"commitTimeout"',
    '"availableNow"': '"available_now"',
}


def test_a_type_checker_refuses_each_slip_and_nothing_else(tmp_path: Path) -> None:
    text = PROGRAM.read_text()
    for right, wrong in SLIPS.items():
        assert right in text
        text = text.replace(right, wrong)
    (tmp_path / "slips.py").write_text(text)
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-pyspark.*]\nfollow_imports = skip\n")
    # PySpark is left out, which takes longer than everything else; `make lint-python` checks the program with it.
    options = ["--strict", "--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / "cache")]
    shown, problems, _ = api.run([*options, str(tmp_path / "slips.py")])
    found = {int(line) for line in re.findall(r"slips\.py:(\d+): error: ", shown)}
    lines = enumerate(zip(PROGRAM.read_text().splitlines(), text.splitlines(), strict=True), start=1)
    assert found == {number for number, (right, wrong) in lines if right != wrong}, shown + problems


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with session() as spark:
        yield spark


READ: list[tuple[Callable[[DynamicKafkaReaderBuilder], object], str, str, str]] = [
    (lambda b: b.set_format("jsn"), "INVALID_OPTION", "format", "Did you mean 'json'?"),  # type: ignore[arg-type]
    (lambda b: b.set_key_format("metadata"), "INVALID_OPTION", "keyFormat", ""),  # type: ignore[arg-type]
    (lambda b: b.set_starting_offsets("earlist"), "INVALID_OPTION", "startingOffsets", ""),  # type: ignore[arg-type]
    (lambda b: b.set_bounded("earliest"), "INVALID_OPTION", "endingOffsets", ""),  # type: ignore[arg-type]
    (lambda b: b.set_change_data("upserts"), "INVALID_OPTION", "changeData", "'upsert'"),  # type: ignore[arg-type]
    (lambda b: b.set_parse_errors("kep"), "INVALID_OPTION", "parseErrors", "'keep'"),  # type: ignore[arg-type]
    (lambda b: b.set_stream_ids(), "INVALID_OPTION", "streamIds", "no name"),
    (lambda b: b.set_stream_pattern("(a"), "INVALID_OPTION", "streamPattern", "regular expression"),
    (lambda b: b.set_metadata_discovery_interval("soon"), "INVALID_OPTION", INTERVAL, "duration"),
    (lambda b: b.set_metadata_discovery_interval(0), "INVALID_OPTION", INTERVAL, "at least 1 ms"),
    (lambda b: b.set_option("maxOffsetsPerTrigger", 0), "INVALID_OPTION", "maxOffsetsPerTrigger", "from 1 to"),
    (lambda b: b.set_option("ui", "yes"), "INVALID_OPTION", "ui", "'true'"),
    (lambda b: b.set_options({"streamIdz": "a"}), "UNKNOWN_OPTION", "streamIdz", "'streamIds'"),
    (lambda b: b.set_options({"clusterRouting": "all"}), "UNKNOWN_OPTION", "clusterRouting", ""),
    (lambda b: b.set_options({"json.dateFormt": "y"}), "UNKNOWN_OPTION", "json.dateFormt", "'json.dateFormat'"),
    (lambda b: b.set_options({"json.allowComments": 1}), "INVALID_OPTION", "json.allowComments", "'true'"),
    (lambda b: b.set_options({"client.rack": "r"}), "INVALID_OPTION", "client.rack", "'set_property'"),
    (lambda b: b.set_options({"kafka.client.rack": "r"}), "INVALID_OPTION", "kafka.client.rack", "'set_property'"),
    (lambda b: b.set_property("failOnDataLoss", True), "INVALID_OPTION", "kafka.failOnDataLoss", "'set_option'"),
    (lambda b: b.set_property("json.dateFormat", "y"), "INVALID_OPTION", "kafka.json.dateFormat", "'set_option'"),
    (lambda b: b.set_property("streamIdz", "a"), "UNKNOWN_OPTION", "streamIdz", "'streamIds'"),
    (lambda b: b.set_property("isolation.level", "dirty"), "INVALID_OPTION", "kafka.isolation.level", "'dirty'"),
    (
        lambda b: b.set_cluster_property("a b", "client.id", "c"),
        "INVALID_OPTION",
        "cluster.a b.client.id",
        "letters",
    ),
    (lambda b: b.set_cluster_property("a", "maxOffset", 1), "UNKNOWN_OPTION", "cluster.a.maxOffset", ""),
    (lambda b: b.set_cluster_property("a", "ui", True), "INVALID_OPTION", "cluster.a.ui", "the whole query"),
    (lambda b: b.set_cluster_property("a", "csv.sep", ","), "INVALID_OPTION", "cluster.a.csv.sep", "two streams"),
]
WRITE: list[tuple[Callable[[DynamicKafkaWriterBuilder], object], str, str, str]] = [
    (lambda b: b.set_stream_id(" "), "INVALID_OPTION", "streamId", "empty"),
    (lambda b: b.set_format("ogg-json"), "INVALID_OPTION", "format", "for reading only"),  # type: ignore[arg-type]
    (lambda b: b.set_partitioner("round_robin"), "INVALID_OPTION", "partitioner", ""),  # type: ignore[arg-type]
    (lambda b: b.set_options({"startingOffsets": "latest"}), "INVALID_OPTION", "startingOffsets", "query writes"),
    (lambda b: b.set_property("acks", "some"), "INVALID_OPTION", "kafka.acks", "one of: all"),
]


def refuse(attempt: Callable[[], object], condition: str, option: str, reason: str) -> None:
    with pytest.raises(PySparkException) as error:
        attempt()
    parameters = error.value.getMessageParameters()
    assert error.value.getCondition() == f"DYNAMIC_KAFKA.{condition}", str(error.value)
    assert parameters is not None and parameters["option"] == option, parameters
    assert reason in parameters.get("reason", parameters.get("suggestion", "")), parameters
    assert f"[DYNAMIC_KAFKA.{condition}]" in str(error.value)


def test_the_connector_refuses_a_slip_in_the_call_that_sets_it(spark: SparkSession) -> None:
    reader, writer = DynamicKafka.builder(spark), DynamicKafka.writer(spark.range(1))
    for read, *expected in READ:
        refuse(partial(read, reader), *expected)
    for write, *expected in WRITE:
        refuse(partial(write, writer), *expected)
    assert reader.options() == {} and writer.options() == {}


def test_the_program_is_accepted(spark: SparkSession, tmp_path: Path) -> None:
    streams = tmp_path / "streams.yaml"
    streams.write_text("version: 1\nclusters: {}\nstreams: {}\n")
    reader = typed_program.reader(spark, str(streams))
    assert {"id", "amount", "_change_type", "cluster"} <= set(reader.load().columns)
    assert "streamIds='orders'" in repr(reader) and "kafka.isolation.level=..." in repr(reader)
    rows = spark.readStream.format("rate").load().selectExpr("string(value) AS id", "value AS amount")
    query = typed_program.copy(rows, str(streams), str(tmp_path / "checkpoint"))
    assert query.name == "copies"
    query.stop()
