from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from dynamic_kafka import (
    ClusterMetadata,
    DynamicKafkaReaderBuilder,
    DynamicKafkaValueError,
    FileMetadataService,
    KafkaMetadataService,
    KafkaStream,
    OffsetsInitializer,
    SingleClusterMetadataService,
    StaticMetadataService,
    _bridge,
    _jvm,
)

Builder = DynamicKafkaReaderBuilder


def test_the_example_of_the_readme(builder: Builder) -> None:
    assert (
        builder.set_kafka_metadata_service(FileMetadataService("streams.yaml"))
        .set_stream_ids("orders", "payments")
        .set_starting_offsets(OffsetsInitializer.earliest())
        .set_property("kafka.isolation.level", "read_committed")
        .options()
    ) == {
        "metadataService": "file",
        "metadataService.path": "streams.yaml",
        "streamIds": "orders;payments",
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
    }


def test_file_service_takes_a_path_and_a_ttl(builder: Builder) -> None:
    builder.set_kafka_metadata_service(FileMetadataService(Path("/etc/streams.json"), ttl="10s"))
    assert builder.options()["metadataService.path"] == "/etc/streams.json"
    assert builder.options()["metadataService.ttlMs"] == "10000"
    with pytest.raises(ValueError, match="0 or more"):
        FileMetadataService("f", ttl=-1)


def test_single_cluster_service(builder: Builder) -> None:
    service = SingleClusterMetadataService("blue", "blue:9092", {"sasl.jaas.config": "hunter2"})
    assert builder.set_kafka_metadata_service(service).options() == {
        "metadataService": "single-cluster",
        "metadataService.clusterId": "blue",
        "metadataService.bootstrapServers": "blue:9092",
        "metadataService.properties.sasl.jaas.config": "hunter2",
    }
    assert "hunter2" not in repr(service)


def test_static_service_is_a_document(builder: Builder) -> None:
    blue = ClusterMetadata(["orders"], {"bootstrap.servers": "blue:9092", "sasl.jaas.config": "hunter2"})
    service = StaticMetadataService([KafkaStream("orders", {"blue": blue})])
    options = builder.set_kafka_metadata_service(service).options()
    assert options["metadataService"] == "static"
    assert options["metadataService.document"].startswith('{"version":1,"clusters":{"blue":')
    assert "hunter2" not in repr(service)


def test_a_service_replaces_the_one_before(builder: Builder) -> None:
    builder.set_kafka_metadata_service(SingleClusterMetadataService("blue", "blue:9092"))
    builder.set_kafka_metadata_service(FileMetadataService("f"))
    assert builder.options() == {"metadataService": "file", "metadataService.path": "f"}


def test_a_python_service_needs_no_jvm_for_options(builder: Builder) -> None:
    class Mine(KafkaMetadataService):
        def get_all_streams(self) -> list[KafkaStream]:
            return []

        def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
            return {}

    assert builder.set_kafka_metadata_service(Mine()).options() == {"metadataService": "registered"}


def test_a_service_of_another_type_is_refused(builder: Builder) -> None:
    with pytest.raises(TypeError, match="not str"):
        builder.set_kafka_metadata_service("streams.yaml")  # type: ignore[arg-type]


def test_stream_ids_come_one_by_one_or_as_an_iterable(builder: Builder) -> None:
    assert builder.set_stream_ids(["a", "b"]).options() == {"streamIds": "a;b"}
    assert builder.set_stream_ids(x for x in "cd").options() == {"streamIds": "c;d"}
    assert builder.set_stream_ids("e").options() == {"streamIds": "e"}


@pytest.mark.parametrize("id", ["", " ", "a;b", "a,b"])
def test_invalid_stream_ids(builder: Builder, id: str) -> None:
    with pytest.raises(DynamicKafkaValueError, match="a stream id is not blank") as error:
        builder.set_stream_ids("a", id)
    assert error.value.getCondition() == "DYNAMIC_KAFKA.INVALID_OPTION"
    assert error.value.getMessageParameters().items() >= {"option": "streamIds", "value": id}.items()


def test_stream_pattern(builder: Builder) -> None:
    assert builder.set_stream_pattern("orders-.*").options() == {"streamPattern": "orders-.*"}
    assert builder.set_stream_pattern(re.compile("a|b")).options() == {"streamPattern": "a|b"}


def test_ids_and_pattern_exclude_each_other() -> None:
    both = "for option '{}': '{}' is also set, but only one"
    with pytest.raises(ValueError, match=both.format("streamPattern", "streamIds")):
        Builder().set_stream_ids("a").set_stream_pattern("a.*")
    with pytest.raises(ValueError, match=both.format("streamIds", "streamPattern")):
        Builder().set_stream_pattern("a.*").set_stream_ids("a")
    with pytest.raises(ValueError, match=both.format("stream-pattern", "streamIds")):
        Builder().set_stream_ids("a").set_options({"stream-pattern": "a.*"})


def test_ending_offsets_and_their_alias() -> None:
    latest = OffsetsInitializer.latest()
    assert Builder().set_ending_offsets(latest).options() == {"endingOffsets": "latest"}
    assert Builder().set_bounded(latest).options() == {"endingOffsets": "latest"}
    assert Builder().set_bounded(OffsetsInitializer.timestamp(5)).options() == {"endingTimestamp": "5"}


def test_later_offsets_replace_earlier_ones(builder: Builder) -> None:
    builder.set_starting_offsets(OffsetsInitializer.timestamp(5))
    builder.set_starting_offsets(OffsetsInitializer.committed_offsets("latest"))
    assert builder.options() == {"startingOffsets": "committed", "committedOffsetsFallback": "latest"}
    builder.set_starting_offsets("latest")
    assert builder.options() == {"startingOffsets": "latest", "committedOffsetsFallback": "latest"}


def test_functions_are_registered_with_the_jvm_where_an_option_has_them(
    builder: Builder, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[str] = []
    monkeypatch.setattr(_jvm, "is_connect", lambda spark: False)
    monkeypatch.setattr(_jvm, "gateway", lambda spark, what: None)
    monkeypatch.setattr(_jvm, "api", lambda gateway: None)
    monkeypatch.setattr(_bridge, "register_offsets", lambda handle, *rest: registered.append(handle))

    def offsets(cluster: str, topic: str, partitions: Sequence[int]) -> dict[int, int]:
        return dict.fromkeys(partitions, 0)

    builder.set_starting_offsets(OffsetsInitializer.of(offsets))
    builder.set_starting_offsets(OffsetsInitializer.of(offsets)).set_bounded(OffsetsInitializer.of(offsets))
    options = builder._prepared(None)  # type: ignore[arg-type]
    assert registered == [options[f"{kind}Offsets"].removeprefix("function:") for kind in ("starting", "ending")]
    registered.clear()
    builder.set_starting_offsets("earliest").set_ending_offsets("latest")
    builder._prepared(None)  # type: ignore[arg-type]
    assert registered == []


def test_start_and_end_share_the_fallback(builder: Builder) -> None:
    builder.set_starting_offsets(OffsetsInitializer.committed_offsets("earliest"))
    builder.set_ending_offsets(OffsetsInitializer.committed_offsets("earliest"))
    with pytest.raises(ValueError, match=r"'fail' for option 'committedOffsetsFallback': .* 'earliest'"):
        builder.set_ending_offsets(OffsetsInitializer.committed_offsets())
    builder.set_starting_offsets(OffsetsInitializer.latest())
    assert builder.options() == {
        "startingOffsets": "latest",
        "endingOffsets": "committed",
        "committedOffsetsFallback": "earliest",
    }


def test_properties_are_kafka_s_and_options_the_connector_s(builder: Builder) -> None:
    builder.set_property("isolation.level", "read_committed")
    builder.set_property("kafka.fetch.max.bytes", 1024)
    builder.set_property("retries", 3)
    builder.set_properties({"json.x": 1, "acks": "all"})
    builder.set_option("failOnDataLoss", False)
    builder.set_options(
        {"includeHeaders": True, "cluster.blue.maxOffsetsPerTrigger": 10, "metadataService.ttlMs": 5}
    )
    assert builder.options() == {
        "kafka.isolation.level": "read_committed",
        "kafka.fetch.max.bytes": "1024",
        "kafka.retries": "3",
        # The connector refuses it.
        "kafka.json.x": "1",
        "kafka.acks": "all",
        "failOnDataLoss": "false",
        "includeHeaders": "true",
        "cluster.blue.maxOffsetsPerTrigger": "10",
        "metadataService.ttlMs": "5",
    }


def test_a_property_is_no_option(builder: Builder) -> None:
    for name in ("kafka.sasl.jaas.config", "Kafka.sasl.jaas.config"):
        with pytest.raises(DynamicKafkaValueError, match="use 'set_property'") as error:
            builder.set_options({name: "hunter2"})
        assert "hunter2" not in str(error.value)
    assert builder.options() == {}


def test_a_builder_is_shown_without_what_may_be_a_secret(builder: Builder) -> None:
    service = SingleClusterMetadataService("blue", "blue:9092", {"sasl.jaas.config": "hunter2"})
    builder.set_kafka_metadata_service(service).set_stream_ids("orders").set_option(
        "uiToken", "hunter2hunter2hunter2"
    )
    builder.set_option("registry.url", "http://user:hunter2@schemas:8081").set_options({"password": "hunter2"})
    builder.set_property("ssl.key.password", "hunter2").set_cluster_property("blue", "sasl.jaas.config", "hunter2")
    assert repr(builder) == (
        "DynamicKafkaReaderBuilder(metadataService='single-cluster', metadataService.clusterId=..., "
        "metadataService.bootstrapServers=..., metadataService.properties.sasl.jaas.config=..., "
        "streamIds='orders', uiToken=..., registry.url=..., password=..., kafka.ssl.key.password=..., "
        "cluster.blue.kafka.sasl.jaas.config=...)"
    )


def test_cluster_properties(builder: Builder) -> None:
    builder.set_cluster_property("blue", "kafka.sasl.jaas.config", "x")
    builder.set_cluster_property("blue", "security.protocol", "SASL_SSL")
    builder.set_cluster_property("eu.Green-1", "startingOffsets", "latest")
    assert builder.options() == {
        "cluster.blue.kafka.sasl.jaas.config": "x",
        "cluster.blue.kafka.security.protocol": "SASL_SSL",
        "cluster.eu.Green-1.startingOffsets": "latest",
    }


def test_clusters_that_differ_in_case_or_hyphen_are_distinguished(builder: Builder) -> None:
    for cluster in ("blue", "Blue", "b-lue"):
        builder.set_cluster_property(cluster, "startingOffsets", "latest")
    assert len(builder.options()) == 3


@pytest.mark.parametrize(("interval", "text"), [("10s", "10s"), (7, "7"), (-1, "-1")])
def test_discovery_interval(builder: Builder, interval: str | int, text: str) -> None:
    options = builder.set_metadata_discovery_interval(interval).options()
    assert options == {"streamMetadataDiscoveryIntervalMs": text}


def test_discovery_interval_of_a_timedelta(builder: Builder) -> None:
    options = builder.set_metadata_discovery_interval(timedelta(minutes=1.5)).options()
    assert options == {"streamMetadataDiscoveryIntervalMs": "90000"}


def test_an_invalid_discovery_interval(builder: Builder) -> None:
    with pytest.raises(ValueError, match="whole milliseconds"):
        builder.set_metadata_discovery_interval(timedelta(microseconds=1))


def test_options_are_kept_unchanged_and_the_later_one_replaces(builder: Builder) -> None:
    builder.set_options({"fail-on-data-loss": True}).set_option("failOnDataLoss", False)
    builder.set_property("a-b", 1).set_property("ab", 2)
    assert builder.options() == {"failOnDataLoss": "false", "kafka.a-b": "1", "kafka.ab": "2"}


def test_a_value_that_no_option_can_have(builder: Builder) -> None:
    with pytest.raises(TypeError, match="format takes a str, int, float or bool, not NoneType"):
        builder.set_format(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="minPartitions takes a str, int, float or bool, not NoneType"):
        builder.set_option("minPartitions", None)  # type: ignore[arg-type]


def test_options_are_a_copy(builder: Builder) -> None:
    builder.options()["streamIds"] = "x"
    assert builder.options() == {}


def test_formats(builder: Builder) -> None:
    schema = StructType([StructField("id", IntegerType())])
    options = (
        builder.set_format("json")
        .set_key_format("json", "id", "v")
        .set_schema(schema)
        .set_metadata_columns("offset", "cluster")
        .set_parse_errors("drop")
        .set_change_data("envelope")
        .set_options({"key.json.timestampFormat": "yyyy", "json.allowComments": True})
        .set_option("registry.url", "http://r")
        .set_cluster_property("blue", "registry.url", "http://b")
        .options()
    )
    assert options == {
        "format": "json",
        "keyFormat": "json",
        "keyFields": "id;v",
        "schema": schema.json(),
        "metadataColumns": "offset;cluster",
        "parseErrors": "drop",
        "changeData": "envelope",
        "key.json.timestampFormat": "yyyy",
        "json.allowComments": "true",
        "registry.url": "http://r",
        "cluster.blue.registry.url": "http://b",
    }
    assert builder.set_schema("id INT").set_metadata_columns().options()["schema"] == "id INT"
    assert builder.options()["metadataColumns"] == ""
