"""A stream on two clusters, for tests of installation and packaging."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

RECORDS = 20
Row = list[Any]


@dataclass(frozen=True)
class Orders:
    """The stream `orders`.

    Args:
        streams: The path of the metadata file.
        topic: Its topic on both clusters.
        expected: All its records: cluster, partition, offset, value.
    """

    streams: Path
    topic: str
    expected: list[Row]

    @classmethod
    def on(cls, brokers: Mapping[str, Cluster], folder: Path, *clusters: str) -> Orders:
        """Create the stream on these clusters."""
        from dynamic_kafka_testkit import Record

        topic = f"orders-{uuid.uuid4().hex[:8]}"
        expected: list[Row] = []
        for name in clusters:
            brokers[name].create_topic(topic, 2)
            brokers[name].produce(topic, [Record(n % 2, None, f"{name}-{n}") for n in range(RECORDS)])
            expected += [
                [name, record.partition, record.offset, record.value] for record in brokers[name].dump(topic)
            ]
        addresses = {
            name: {"properties": {"bootstrap.servers": brokers[name].bootstrap_servers}} for name in clusters
        }
        # The format is used where it is asked for; all other reads are raw.
        stream = {"format": "string", "clusters": {name: {"topics": [topic]} for name in clusters}}
        streams = folder / "streams.json"
        streams.write_text(json.dumps({"version": 1, "clusters": addresses, "streams": {"orders": stream}}))
        return cls(streams, topic, sorted(expected, key=str))

    def with_copies(self, brokers: Mapping[str, Cluster], folder: Path, *clusters: str) -> tuple[Path, str]:
        """A file with the stream `copies` as well, and its topic, which is created on these clusters."""
        topic = f"copies-{uuid.uuid4().hex[:8]}"
        for name in clusters:
            brokers[name].create_topic(topic, 2)
        document = json.loads(self.streams.read_text())
        document["streams"]["copies"] = {"clusters": {name: {"topics": [topic]} for name in clusters}}
        streams = folder / "streams-with-copies.json"
        streams.write_text(json.dumps(document))
        return streams, topic
