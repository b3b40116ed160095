from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from dynamic_kafka import (
    ClusterMetadata,
    History,
    KafkaStream,
    OffsetsInitializer,
    StaticMetadataService,
    document,
)

SERVERS = {"bootstrap.servers": "blue:9092"}


def test_document_is_the_metadata_file() -> None:
    blue = ClusterMetadata(["orders"], SERVERS, state="draining")
    green = ClusterMetadata(
        ["orders", "more"], {"bootstrap.servers": "green:9092"}, OffsetsInitializer.earliest(), "latest"
    )
    streams = [KafkaStream("orders", {"green": green, "blue": blue}), KafkaStream("other", {"blue": blue})]
    assert document(streams) == {
        "version": 1,
        "clusters": {
            "green": {"properties": {"bootstrap.servers": "green:9092"}},
            "blue": {"properties": {"bootstrap.servers": "blue:9092"}},
        },
        "streams": {
            "orders": {
                "clusters": {
                    "green": {
                        "topics": ["orders", "more"],
                        "state": "active",
                        "starting_offsets": "earliest",
                        "stopping_offsets": "latest",
                    },
                    "blue": {"topics": ["orders"], "state": "draining"},
                }
            },
            "other": {"clusters": {"blue": {"topics": ["orders"], "state": "draining"}}},
        },
    }
    assert list(document(streams)["streams"]["orders"]["clusters"]) == ["green", "blue"]


def test_history_of_a_stream_is_in_the_document() -> None:
    blue = ClusterMetadata(["orders"], SERVERS)
    history = History("parquet", "s3a://archive/orders", {"mergeSchema": True}, "blue")  # type: ignore[dict-item]
    made = document([KafkaStream("orders", {"blue": blue}, history=history)])
    assert made["streams"]["orders"]["history"] == {
        "format": "parquet",
        "path": "s3a://archive/orders",
        "options": {"mergeSchema": "true"},
        "cluster": "blue",
    }
    made = document([KafkaStream("orders", {"blue": blue}, history=History("json", "/archive"))])
    assert made["streams"]["orders"]["history"] == {"format": "json", "path": "/archive"}


def test_invalid_history() -> None:
    with pytest.raises(ValueError, match="path of a history must not be blank"):
        History("json", " ")
    with pytest.raises(ValueError, match="must be one of parquet, orc, avro, json, iceberg, not 'parquett'"):
        History("parquett", "/archive")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="history must be a History, not dict"):
        KafkaStream("orders", {}, history={"format": "json"})  # type: ignore[arg-type]


def starting(offsets: OffsetsInitializer) -> Any:
    metadata = ClusterMetadata(["orders"], SERVERS, offsets)
    entry = document([KafkaStream("orders", {"blue": metadata})])["streams"]["orders"]["clusters"]["blue"]
    return entry["starting_offsets"]


def test_offsets_in_metadata_are_those_of_the_cluster() -> None:
    exact = OffsetsInitializer.offsets({"blue": {"orders": {0: 42}}, "green": {"orders": {0: 7}}})
    assert starting(exact) == '{"orders":{"0":42}}'
    assert starting(OffsetsInitializer.timestamp(5)) == "timestamp:5"
    assert starting(OffsetsInitializer.committed_offsets()) == "committed"


def test_offsets_that_metadata_cannot_contain() -> None:
    with pytest.raises(ValueError, match="do not contain cluster 'blue', only green"):
        starting(OffsetsInitializer.offsets({"green": {"orders": {0: 7}}}))
    with pytest.raises(ValueError, match="committedOffsetsFallback"):
        starting(OffsetsInitializer.committed_offsets("latest"))


def test_two_streams_that_disagree_about_a_cluster() -> None:
    one = ClusterMetadata(["a"], {**SERVERS, "sasl.jaas.config": "hunter2"})
    two = ClusterMetadata(["b"], {**SERVERS, "sasl.jaas.config": "hunter3"})
    with pytest.raises(ValueError, match=r"'orders' and 'payments'.*'blue'.*: sasl.jaas.config$") as error:
        StaticMetadataService([KafkaStream("orders", {"blue": one}), KafkaStream("payments", {"blue": two})])
    assert "hunter" not in str(error.value)


def test_a_stream_given_twice() -> None:
    stream = KafkaStream("orders", {"blue": ClusterMetadata(["a"], SERVERS)})
    with pytest.raises(ValueError, match="stream 'orders' is duplicate"):
        document([stream, stream])


def test_repr_shows_no_property_but_the_servers() -> None:
    metadata = ClusterMetadata(["orders"], {**SERVERS, "ssl.key.password": "hunter2"})
    shown = repr(KafkaStream("orders", {"blue": metadata})) + str(metadata) + f"{metadata}"
    assert "blue:9092" in shown
    assert "hunter2" not in shown
    assert "ssl.key.password" not in shown


def test_the_model_is_a_value() -> None:
    topics, properties = ["orders"], dict(SERVERS)
    metadata = ClusterMetadata(topics, properties)
    topics.append("later")
    properties["later"] = "x"
    assert metadata == ClusterMetadata(("orders",), SERVERS)
    stream = KafkaStream("orders", {"blue": metadata})
    assert {stream, copy.deepcopy(stream)} == {stream}
    assert pickle.loads(pickle.dumps(stream)) == stream


def test_a_set_of_topics_has_an_order() -> None:
    assert ClusterMetadata({"b", "a", "c"}, SERVERS).topics == ("a", "b", "c")


def test_property_values_become_text() -> None:
    properties: dict[str, Any] = {**SERVERS, "fetch.max.bytes": 5, "enable.metrics.push": False}
    assert ClusterMetadata(["a"], properties).properties["enable.metrics.push"] == "false"


def test_a_cluster_that_takes_no_writes() -> None:
    reads = ClusterMetadata(["orders"], SERVERS, write=False)
    both = ClusterMetadata(["orders"], SERVERS)
    entries = document([KafkaStream("a", {"blue": reads}), KafkaStream("b", {"blue": both})])["streams"]
    assert entries["a"]["clusters"]["blue"] == {"topics": ["orders"], "state": "active", "write": False}
    assert entries["b"]["clusters"]["blue"] == {"topics": ["orders"], "state": "active"}
    assert reads != both
    assert hash(reads) != hash(both)
    assert "write=False" in repr(reads)
    assert both == ClusterMetadata(["orders"], SERVERS, write=True)


def test_a_cluster_that_replaces_another_one() -> None:
    green = ClusterMetadata(["orders"], SERVERS, replaces="blue")
    found = document([KafkaStream("orders", {"green": green})])
    assert found["clusters"] == {"green": {"properties": SERVERS, "replaces": "blue"}}
    assert green != ClusterMetadata(["orders"], SERVERS)


def test_format_options_of_streams_and_clusters() -> None:
    blue = ClusterMetadata(["orders"], SERVERS, format_options={"registry.url": "http://blue"})
    stream = KafkaStream("orders", {"blue": blue}, format_options={"format": "json", "registry.url": "http://r"})
    written = document([stream])["streams"]["orders"]
    assert written["options"] == {"format": "json", "registry.url": "http://r"}
    assert written["clusters"]["blue"]["registry"] == {"url": "http://blue"}
    with pytest.raises(ValueError, match="has 'format', but the records of a stream have one format"):
        ClusterMetadata(["orders"], SERVERS, format_options={"format": "avro"})
    assert stream != KafkaStream("orders", {"blue": blue})
    # A registry may have credentials.
    assert "http://r" not in repr(stream)


def test_invalid_models() -> None:
    with pytest.raises(TypeError, match="not the str 'orders'"):
        ClusterMetadata("orders", SERVERS)
    with pytest.raises(ValueError, match="'active', 'draining' or 'removed'"):
        ClusterMetadata(["orders"], SERVERS, state="gone")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="write must be True or False, not 'no'"):
        ClusterMetadata(["orders"], SERVERS, write="no")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="stream 'orders', cluster 'blue'"):
        KafkaStream("orders", {"blue": {"topics": ["orders"]}})  # type: ignore[dict-item]


def test_topics_by_pattern_and_by_partition() -> None:
    pattern = ClusterMetadata(properties=SERVERS, topic_pattern="orders-.*")
    some = ClusterMetadata((), SERVERS, partitions={"orders": [2, 0]})
    streams = document([KafkaStream("a", {"blue": pattern}), KafkaStream("b", {"blue": some})])["streams"]
    assert streams["a"]["clusters"]["blue"] == {"topic_pattern": "orders-.*", "state": "active"}
    assert streams["b"]["clusters"]["blue"] == {"partitions": {"orders": [0, 2]}, "state": "active"}
    assert "topic_pattern='orders-.*'" in repr(pattern)
    assert "partitions={'orders': (0, 2)}" in repr(some)
    assert hash(pattern) != hash(some)
    assert some == ClusterMetadata((), SERVERS, partitions={"orders": (0, 2)})


def test_topics_are_given_in_one_way() -> None:
    with pytest.raises(ValueError, match="not topics and topic_pattern"):
        ClusterMetadata(["orders"], SERVERS, topic_pattern="orders")
    with pytest.raises(ValueError, match=r"partitions of topic 'orders' must be ints of 0 or more"):
        ClusterMetadata((), SERVERS, partitions={"orders": [-1]})
