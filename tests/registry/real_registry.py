"""Two clusters with a registry each, read through a change and a restart, and written: `make extra NAME=registry`.

Not a name that pytest looks for, because `make test` would have to fetch 140 MB.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka_testkit import Cluster
from pyspark.sql import SparkSession

from tests.harness.metadata import MetadataFile
from tests.registry.clients import PYTHON
from tests.registry.server import Registry


def _record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "Order", "namespace": "shop", "fields": list(fields)}


# In `V2`, `id` is promoted, `name` renamed, `old` removed, and `country` added.
V1 = _record(
    {"name": "id", "type": "int"},
    {"name": "name", "type": "string"},
    {"name": "old", "type": "string"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
)
V2 = _record(
    {"name": "id", "type": "long"},
    {"name": "customer", "type": "string", "aliases": ["name"]},
    {"name": "country", "type": "string", "default": "none"},
    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
)
OTHER = _record({"name": "x", "type": "string"})
AT = 1_700_000_000_123


def _produce(cluster: Cluster, registry: Registry, topic: str, *parts: dict[str, Any]) -> None:
    subprocess.run(
        [str(PYTHON), str(Path(__file__).with_name("produce.py")), cluster.bootstrap_servers, registry.url, topic],
        input="\n".join(json.dumps(part) for part in parts),
        text=True,
        check=True,
    )


def _consume(cluster: Cluster, registry: Registry, topic: str, kind: str) -> list[dict[str, Any]]:
    result = subprocess.run(
        [
            str(PYTHON),
            str(Path(__file__).with_name("consume.py")),
            cluster.bootstrap_servers,
            registry.url,
            topic,
            kind,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in result.stdout.splitlines()]


def _v1(*ids: int) -> dict[str, Any]:
    records = [{"id": i, "name": f"n{i}", "old": "x", "at": AT} for i in ids]
    return {"kind": "avro", "schema": V1, "records": records}


def _v2(*ids: int) -> dict[str, Any]:
    records = [{"id": i, "customer": f"n{i}", "country": "de", "at": AT} for i in ids]
    return {"kind": "avro", "schema": V2, "records": records}


def test_evolution_over_clusters(
    spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], tmp_path: Path
) -> None:
    (blue, green), (one, two) = clusters, registries
    for cluster in clusters:
        cluster.create_topic("orders", partitions=1)
    _produce(blue, one, "orders", _v1(1), _v2(2), _v1(3))
    # The ids of the other registry mean other schemas.
    unrelated = {"kind": "avro", "schema": OTHER, "records": [], "topic": "unrelated"}
    _produce(green, two, "orders", {**unrelated, "records": []}, _v2(11), _v1(12))
    file = MetadataFile(tmp_path / "streams.json").cluster("blue", blue.bootstrap_servers)
    file = file.cluster("green", green.bootstrap_servers).stream("orders", {"blue": ["orders"]}).write()

    def read() -> None:
        frame = (
            spark.readStream.format("dynamic-kafka")
            .options(**{"metadataService": "file", "metadataService.path": str(file.path), "streamIds": "orders"})
            .options(**{"startingOffsets": "earliest", "format": "avro-confluent", "schema": json.dumps(V2)})
            .options(**{"cluster.blue.registry.url": one.url, "cluster.green.registry.url": two.url})
            .load()
        )
        query = frame.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
        assert query.start().awaitTermination(120)

    read()
    _produce(blue, one, "orders", _v2(4))
    file.stream("orders", {"blue": ["orders"], "green": ["orders"]}).write()
    read()
    rows = spark.read.parquet(str(tmp_path / "rows")).selectExpr(
        "id", "customer", "country", "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSS') as at", "cluster"
    )
    at = "2023-11-14 22:13:20.123"
    old, new = {1, 3, 12}, {2, 4, 11}
    assert sorted(tuple(row) for row in rows.collect()) == [
        (i, f"n{i}", "none" if i in old else "de", at, "green" if i > 10 else "blue") for i in sorted(old | new)
    ]


def test_columns_of_the_registry(
    spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], tmp_path: Path
) -> None:
    (blue, _), (one, _) = clusters, registries
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Payment",
        "type": "object",
        "properties": {"id": {"type": "integer"}, "paid": {"type": "boolean"}},
    }
    blue.create_topic("payments", partitions=1)
    _produce(blue, one, "payments", {"kind": "json", "schema": schema, "records": [{"id": 1, "paid": True}]})
    blue.create_topic("parcels", partitions=1)
    parcel = _record({"name": "id", "type": "long"}, {"name": "weight", "type": ["null", "double"]})
    _produce(blue, one, "parcels", {"kind": "avro", "schema": parcel, "records": [{"id": 7, "weight": 0.5}]})
    file = MetadataFile(tmp_path / "streams.json").cluster("blue", blue.bootstrap_servers)
    file.stream("payments", {"blue": ["payments"]}).stream("parcels", {"blue": ["parcels"]}).write()
    found = {}
    for stream, format_ in (("payments", "json-confluent"), ("parcels", "avro-confluent")):
        frame = (
            spark.read.format("dynamic-kafka")
            .options(**{"metadataService": "file", "metadataService.path": str(file.path), "streamIds": stream})
            .options(**{"format": format_, "schema": "registry", "registry.url": one.url, "metadataColumns": ""})
            .load()
        )
        found[stream] = (frame.columns, [tuple(row) for row in frame.collect()])
    assert found == {
        "payments": (["id", "paid"], [(1, True)]),
        "parcels": (["id", "weight"], [(7, 0.5)]),
    }


def _field(name: str, number: int, of: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "number": number, "type": f"TYPE_{of}", "label": "LABEL_OPTIONAL", **more}


def test_protobuf(
    spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], tmp_path: Path
) -> None:
    """Messages whose schemas the serializer registers, one of them inside another, and one with its schema as text."""
    (blue, green), (one, two) = clusters, registries
    item = {"name": "Item", "field": [_field("sku", 1, "STRING")]}
    order = [_field("id", 1, "INT64"), _field("item", 2, "MESSAGE", typeName=".shop.Order.Item")]
    kind = _field("kind", 3, "ENUM", typeName=".shop.Kind")
    kinds = {"name": "Kind", "value": [{"name": "NONE", "number": 0}, {"name": "NEW", "number": 1}]}

    def file(*fields: dict[str, Any], **more: Any) -> dict[str, Any]:
        message = {"name": "Order", "field": list(fields), "nestedType": [item]}
        return {"name": "order.proto", "package": "shop", "syntax": "proto3", "messageType": [message], **more}

    def part(schema: dict[str, Any], *records: dict[str, Any], message: str = "shop.Order") -> dict[str, Any]:
        return {"kind": "protobuf", "schema": schema, "message": message, "records": list(records)}

    v1, v2 = file(*order), file(*order, kind, enumType=[kinds])
    for cluster in clusters:
        cluster.create_topic("shipments", partitions=1)
    first = part(v1, {"id": 1, "item": {"sku": "a"}})
    inner = part(v1, {"sku": "inner"}, message="shop.Order.Item")
    _produce(blue, one, "shipments", first, inner, part(v2, {"id": 2, "kind": "NEW"}))
    # A registry may also have the text that people write.
    text = """syntax = "proto3"; package shop;
        message Order { message Item { string sku = 1; } int64 id = 1; Item item = 2; Kind kind = 3; }
        enum Kind { NONE = 0; NEW = 1; }"""
    known = two.register("shipments-value", text, "PROTOBUF")
    _produce(green, two, "shipments", {**part(v2, {"id": 3, "kind": "NEW"}), "id": known})
    file_ = MetadataFile(tmp_path / "streams.json").cluster("blue", blue.bootstrap_servers)
    topics = {"blue": ["shipments"], "green": ["shipments"]}
    file_.cluster("green", green.bootstrap_servers).stream("shipments", topics).write()
    frame = (
        spark.read.format("dynamic-kafka")
        .options(**{"metadataService": "file", "metadataService.path": str(file_.path), "streamIds": "shipments"})
        .options(**{"format": "protobuf-confluent", "protobuf-confluent.messageName": "shop.Order"})
        .options(**{"cluster.blue.registry.url": one.url, "cluster.green.registry.url": two.url})
        .options(**{"schema": "registry", "parseErrors": "keep"})
        .load()
    )
    assert frame.columns[:3] == ["id", "item", "kind"]
    rows = frame.selectExpr("id", "item.sku", "kind", "cluster", "_decode_error IS NOT NULL").collect()
    assert {tuple(row) for row in rows} == {
        (1, "a", None, "blue", False),
        (None, None, None, "blue", True),
        (2, None, "NEW", "blue", False),
        (3, None, "NEW", "green", False),
    }


@pytest.mark.parametrize("kind", ["avro", "json"])
def test_written_records(
    spark: SparkSession, clusters: list[Cluster], registries: tuple[Registry, Registry], tmp_path: Path, kind: str
) -> None:
    """What the sink writes exactly once, as Confluent's deserializers read it, with the schemas of each registry."""
    (blue, green), (one, two) = clusters, registries
    topic = f"written-{kind}"
    for cluster in clusters:
        cluster.create_topic(topic, partitions=2)
    # The ids of the two registries differ.
    _produce(green, two, topic, {"kind": "avro", "schema": OTHER, "records": [], "topic": f"unrelated-{kind}"})
    file = MetadataFile(tmp_path / "streams.json").cluster("blue", blue.bootstrap_servers)
    file = (
        file.cluster("green", green.bootstrap_servers).stream("out", {"blue": [topic], "green": [topic]}).write()
    )

    def write(from_: int, to: int, *more: str, **options: str) -> None:
        columns = [
            "id",
            "concat('n', id) as name",
            "timestamp_millis(1700000000123) as at",
            "array(id, null) as list",
        ]
        place = "if(id % 2 = 0, 'blue', 'green') as cluster"
        frame = spark.range(from_, to).selectExpr(*columns, *more, place)
        writer = frame.write.format("dynamic-kafka").mode("append").option("metadataService", "file")
        writer = writer.options(**{"metadataService.path": str(file.path), "streamId": "out"})
        writer = writer.options(
            **{"format": f"{kind}-confluent", "keyFormat": f"{kind}-confluent", "keyFields": "id"}
        )
        writer = writer.options(**{"cluster.blue.registry.url": one.url, "cluster.green.registry.url": two.url})
        writer = writer.options(deliveryGuarantee="exactly-once", checkpointLocation=str(tmp_path / "journal"))
        writer.options(**options).save()

    write(0, 4)
    # A further column is compatible; then the registry has the columns.
    write(4, 6, "1.5D as total")
    write(6, 8, **{"schema": "registry", "registry.autoRegister": "false"})
    at: Any = "2023-11-14 22:13:20.123000+00:00" if kind == "avro" else "2023-11-14T22:13:20.123000Z"
    for cluster, registry, rest in ((blue, one, 0), (green, two, 1)):
        found = sorted(_consume(cluster, registry, topic, kind), key=lambda record: record["key"]["id"])
        assert [record["key"] for record in found] == [{"id": i} for i in range(rest, 8, 2)]
        for i, record in zip(range(rest, 8, 2), found, strict=True):
            value = {name: item for name, item in record["value"].items() if item is not None}
            total = {"total": 1.5} if 4 <= i < 6 else {}
            assert value == {"id": i, "name": f"n{i}", "at": at, "list": [i, None], **total}
