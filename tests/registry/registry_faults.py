"""Registries that do not respond, and ids that they do not have, in a running query.

Each fails the query with its place and loses nothing: it continues when the cause is gone. `make extra NAME=registry`.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dynamic_kafka import DynamicKafka
from dynamic_kafka_testkit import Cluster
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.harness.waiting import until
from tests.registry.changing import STREAM, ChangingService
from tests.registry.clients import Foreign
from tests.registry.server import Registry


def _schema(name: str, *fields: tuple[str, str]) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": n, "type": of} for n, of in fields]}


V1 = _schema("Order", ("id", "long"))
V2 = _schema("Order", ("id", "long"), ("more", "string"))


class Orders:
    """A query that reads `id`, with all its runs."""

    def __init__(
        self,
        spark: SparkSession,
        clusters: list[Cluster],
        registries: tuple[Registry, Registry],
        foreign: Foreign,
        folder: Path,
    ) -> None:
        self._spark = spark
        self._foreign = foreign
        self._folder = folder
        self.clusters = dict(zip(("blue", "green"), clusters, strict=True))
        self.registries = dict(zip(("blue", "green"), registries, strict=True))
        self.topic = f"faults-{uuid.uuid4().hex[:8]}"
        for cluster in clusters:
            cluster.create_topic(self.topic, partitions=1)
        self._service = ChangingService(self.topic, self.clusters)
        self._service.define(blue="active", green="active")
        self._batches: dict[int, list[tuple[Any, ...]]] = {}
        self._query: StreamingQuery | None = None

    def send(self, cluster: str, schema: dict[str, Any], *values: dict[str, Any]) -> None:
        """By Confluent's serializer."""
        codec = {"encoding": "avro-confluent", "schema": schema}
        place = (self.clusters[cluster], self.registries[cluster], self.topic)
        self._foreign.produce(*place, codec, [("k", value) for value in values], partitions=1)

    def send_bytes(self, cluster: str, data: bytes) -> None:
        """Sends the bytes as they are."""
        place = (self.clusters[cluster], self.registries[cluster], self.topic)
        self._foreign.produce(*place, {"encoding": "bytes"}, [("k", data.hex())], partitions=1)

    def start(self, **options: str) -> StreamingQuery:
        """A run of the query."""
        builder = DynamicKafka.builder(self._spark).set_kafka_metadata_service(self._service)
        builder = builder.set_stream_ids(STREAM).set_format("avro-confluent").set_schema("id BIGINT")
        settings = {"startingOffsets": "earliest", "clusterSnapshotMaxAgeMs": "0", "registry.timeoutMs": "3s"}
        registries = {f"cluster.{name}.registry.url": of.url for name, of in self.registries.items()}
        builder.set_options({**settings, **registries, **options})

        def keep(batch: DataFrame, number: int) -> None:
            self._batches[number] = [tuple(row) for row in batch.collect()]

        rows = builder.load().select("cluster", "offset", "id")
        writer = rows.writeStream.foreachBatch(keep).option("checkpointLocation", str(self._folder / "checkpoint"))
        self._query = writer.trigger(processingTime="0 seconds").start()
        return self._query

    def fails(self, condition: str, *parts: str, **options: str) -> None:
        """A new run ends with this condition, whose text has these parts."""
        error = self.ended(self.start(**options))
        assert f"[DYNAMIC_KAFKA.{condition}]" in error, error
        assert all(part in error for part in parts), error

    def continues(self, **options: str) -> None:
        """Runs again until one reads everything: a process asks for an unknown id again after ten seconds."""

        def works() -> bool:
            query = self.start(**options)
            try:
                query.processAllAvailable()
                query.processAllAvailable()
                return True
            except StreamingQueryException:
                return False
            finally:
                query.stop()

        until("a run that reads everything", works, deadline_s=60)

    def rows(self) -> Counter[Any]:
        """All that was read: cluster, offset and id."""
        return Counter(row for batch in self._batches.values() for row in batch)

    def ended(self, query: StreamingQuery) -> str:
        """The error that ends a run."""
        with pytest.raises(StreamingQueryException) as found:
            query.awaitTermination(120)
        return str(found.value)

    def close(self) -> None:
        """Stop the query."""
        if self._query is not None:
            self._query.stop()


@pytest.fixture
def orders(
    spark: SparkSession,
    clusters: list[Cluster],
    registries: tuple[Registry, Registry],
    foreign: Foreign,
    tmp_path: Path,
) -> Iterator[Orders]:
    orders = Orders(spark, clusters, registries, foreign, tmp_path)
    yield orders
    orders.close()


def test_a_registry_that_does_not_respond(orders: Orders) -> None:
    orders.send("blue", V1, {"id": 1})
    orders.send("green", V1, {"id": 2})
    orders.continues()
    green = orders.registries["green"]
    orders.send("blue", V1, {"id": 3})
    orders.send("green", V2, {"id": 4, "more": "x"})
    green.freeze()
    try:
        orders.fails("REGISTRY_UNAVAILABLE", green.url, "cluster 'green'", "schema id")
    finally:
        green.thaw()
    assert orders.rows() == Counter([("blue", 0, 1), ("green", 0, 2)])
    orders.continues()
    assert orders.rows() == Counter([("blue", 0, 1), ("green", 0, 2), ("blue", 1, 3), ("green", 1, 4)])


def test_an_id_that_the_registry_gets_later(orders: Orders) -> None:
    green = orders.registries["green"]

    def register(n: int) -> int:
        text = json.dumps({**V1, "name": f"Order{n}", "namespace": orders.topic.replace("-", "_")})
        return green.register(f"{orders.topic}-{n}", text, "AVRO")

    late = register(0) + 3
    orders.send("green", V1, {"id": 1})
    # Seven, in Avro's variable length.
    orders.send_bytes("green", struct.pack(">bI", 0, late) + b"\x0e")
    orders.send("blue", V1, {"id": 2})
    place = ("cluster 'green'", f"topic '{orders.topic}'", "partition 0", "offset 1", f"schema id {late}")
    orders.fails("DECODE_FAILED", *place)
    orders.fails("DECODE_FAILED", *place)
    assert not orders.rows()
    assert late in (register(n) for n in range(1, 10))
    orders.continues()
    assert orders.rows() == Counter([("green", 0, 1), ("green", 1, 7), ("blue", 0, 2)])
