from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from dynamic_kafka import (
    DynamicKafka,
    DynamicKafkaError,
    DynamicKafkaReaderBuilder,
    DynamicKafkaWriterBuilder,
    FileMetadataService,
    KafkaMetadataService,
    KafkaStream,
    SingleClusterMetadataService,
)

Builder = DynamicKafkaWriterBuilder


class Frame(DataFrame):
    """A DataFrame without a session, which options do not need."""

    def __new__(cls) -> Frame:
        return object.__new__(cls)


@pytest.fixture
def writer() -> Builder:
    return DynamicKafka.writer(Frame())


def test_every_setter_is_an_option(writer: Builder) -> None:
    assert (
        writer.set_kafka_metadata_service(FileMetadataService("streams.yaml"))
        .set_stream_id("orders")
        .set_format("json")
        .set_key_format("avro", "id", "region")
        .set_schema("id BIGINT, region STRING")
        .set_change_data("upsert")
        .set_cluster_routing("all")
        .set_write_failover("none")
        .set_cluster_distribution("auto")
        .set_delivery_guarantee("exactly-once")
        .set_transactional_id_prefix("shop")
        .set_partitioner("round-robin")
        .set_metadata_discovery_interval("10s")
        .options()
    ) == {
        "metadataService": "file",
        "metadataService.path": "streams.yaml",
        "streamId": "orders",
        "format": "json",
        "keyFormat": "avro",
        "keyFields": "id;region",
        "schema": "id BIGINT, region STRING",
        "changeData": "upsert",
        "clusterRouting": "all",
        "writeFailover": "none",
        "clusterDistribution": "auto",
        "deliveryGuarantee": "exactly-once",
        "transactionalIdPrefix": "shop",
        "partitioner": "round-robin",
        "streamMetadataDiscoveryIntervalMs": "10s",
    }


def test_a_schema_as_a_type(writer: Builder) -> None:
    schema = StructType().add("id", "long")
    assert writer.set_schema(schema).options() == {"schema": schema.json()}


def test_properties_are_kafka_s_and_options_the_connector_s(writer: Builder) -> None:
    writer.set_property("linger.ms", 20).set_properties({"acks": "all", "kafka.compression.type": "zstd"})
    writer.set_options({"deadLetterTopic": "rejected", "commitTimeoutMs": 5000})
    writer.set_cluster_property("Blue", "client.id", "me").set_cluster_property("Blue", "kafka.client.rack", "r1")
    writer.set_option("checkpointLocation", "/checkpoint")
    assert writer.options() == {
        "kafka.linger.ms": "20",
        "kafka.acks": "all",
        "kafka.compression.type": "zstd",
        "deadLetterTopic": "rejected",
        "commitTimeoutMs": "5000",
        "cluster.Blue.kafka.client.id": "me",
        "cluster.Blue.kafka.client.rack": "r1",
        "checkpointLocation": "/checkpoint",
    }


def test_the_later_value_replaces_in_any_spelling(writer: Builder) -> None:
    writer.set_kafka_metadata_service(SingleClusterMetadataService("blue", "blue:9092"))
    writer.set_kafka_metadata_service(FileMetadataService("f"))
    writer.set_options({"delivery-guarantee": "none"}).set_delivery_guarantee("exactly-once")
    assert writer.options() == {
        "metadataService": "file",
        "metadataService.path": "f",
        "deliveryGuarantee": "exactly-once",
    }


def test_a_python_service_needs_no_jvm_for_options(writer: Builder) -> None:
    class Mine(KafkaMetadataService):
        def get_all_streams(self) -> list[KafkaStream]:
            return []

        def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
            return {}

    assert writer.set_kafka_metadata_service(Mine()).options() == {"metadataService": "registered"}


def test_a_value_that_no_option_can_have(writer: Builder) -> None:
    for setter in (
        writer.set_stream_id,
        writer.set_cluster_routing,
        writer.set_write_failover,
        writer.set_cluster_distribution,
        writer.set_delivery_guarantee,
        writer.set_transactional_id_prefix,
        writer.set_partitioner,
    ):
        with pytest.raises(TypeError, match="takes a str, int, float or bool, not NoneType"):
            setter(cast(Any, None))
    assert writer.options() == {}


@pytest.mark.parametrize("frame", [None, "orders", DataFrame])
def test_a_value_that_is_no_dataframe(frame: object) -> None:
    with pytest.raises(TypeError, match="takes a DataFrame of PySpark, not "):
        DynamicKafka.writer(cast(Any, frame))


def test_reads_and_writes_have_the_shared_setters_in_common() -> None:
    def setters(builder: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(builder, callable) if name.startswith("set_")}

    shared = setters(DynamicKafkaReaderBuilder) & setters(DynamicKafkaWriterBuilder)
    assert shared == {
        "set_kafka_metadata_service",
        "set_property",
        "set_properties",
        "set_cluster_property",
        "set_metadata_discovery_interval",
        "set_option",
        "set_options",
        "set_format",
        "set_key_format",
        "set_schema",
        "set_change_data",
    }


def test_a_query_starts_with_its_name_and_trigger(writer: Builder, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[object] = []

    class Stream:
        def __getattr__(self, method: str) -> object:
            return lambda *args, **named: called.append((method, *args, *named.items())) or self  # type: ignore[func-returns-value]

    monkeypatch.setattr(writer, "write_stream", Stream)
    writer.start(Path("/c"), name="copies", trigger={"processingTime": "10 seconds"})
    checkpoint = ("option", "checkpointLocation", "/c")
    trigger = ("trigger", ("processingTime", "10 seconds"))
    assert called == [checkpoint, ("queryName", "copies"), trigger, ("start",)]
    called.clear()
    writer.start("/c")
    assert called == [checkpoint, ("start",)]


def test_a_session_without_the_jar_fails_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    def writer(frame: DataFrame) -> Builder:
        service = FileMetadataService(tmp_path / "streams.yaml")
        return DynamicKafka.writer(frame).set_kafka_metadata_service(service).set_stream_id("orders")

    rows = spark.readStream.format("rate").load().selectExpr("string(value) AS value")
    for attempt in (
        lambda: writer(rows).start(tmp_path / "checkpoint"),
        lambda: writer(rows).write_stream(),
        lambda: writer(spark.range(1).selectExpr("string(id) AS value")).save(),
    ):
        with pytest.raises(DynamicKafkaError) as error:
            attempt()
        assert error.value.getCondition() == "DYNAMIC_KAFKA.JAR_MISSING"
    assert not (tmp_path / "checkpoint").exists()
