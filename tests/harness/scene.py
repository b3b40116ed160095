"""The environment of one test: its own topics and files, on shared brokers and drivers."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .checker import Checker, Seen, Wanted, assert_none_repeated
from .driver_pool import DriverPool
from .metadata import MetadataFile
from .query import Query

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Record

PARTITIONS = 2


class Scene:
    """Created for each test."""

    def __init__(self, folder: Path, brokers: Mapping[str, Cluster], drivers: DriverPool) -> None:
        self.folder = folder
        self.brokers = brokers
        self.drivers = drivers
        self._queries: list[Query] = []
        self._checkers: list[Checker] = []
        self._numbers = itertools.count()

    def topic(self, *clusters: str, partitions: int = PARTITIONS) -> str:
        """Create a topic with the same new name on these clusters."""
        name = f"t-{uuid.uuid4().hex[:8]}"
        for cluster in clusters:
            self.brokers[cluster].create_topic(name, partitions)
        return name

    def metadata(self, stream: str, *clusters: str, topic: str) -> MetadataFile:
        """Create a file with one stream of one topic on these clusters. It has the addresses of all brokers."""
        file = MetadataFile(self.folder / f"streams-{stream}.json")
        for name in self.brokers:
            file.cluster(name, self.brokers[name].bootstrap_servers)
        return file.stream(stream, {cluster: [topic] for cluster in clusters}).write()

    def filled(self, stream: str, *clusters: str, records: int) -> tuple[str, MetadataFile]:
        """Create a topic with this number of records on each of these clusters, and a file with one stream of it."""
        topic = self.topic(*clusters)
        for cluster in clusters:
            self.produce(cluster, topic, records)
        return topic, self.metadata(stream, *clusters, topic=topic)

    def query(self, metadata: MetadataFile, name: str = "", service: str = "file", **options: str) -> Query:
        """Create a query over the first stream of a file, without starting it."""
        stream = next(iter(metadata.document()["streams"]))
        name = f"{name or stream}-{uuid.uuid4().hex[:6]}"
        query = Query(name, self.folder / name, metadata.path, [stream], options, service)
        self._queries.append(query)
        return query

    def produce(self, cluster: str, topic: str, count: int) -> None:
        """Produce values that are unique in this test, over all partitions."""
        self.brokers[cluster].produce(topic, self._records(cluster, count))

    def checker(self, query: Query, *topics: tuple[str, str], wanted: Wanted = lambda record: True) -> Checker:
        """A comparison with these topics, as (cluster, topic)."""
        checker = Checker(query.sink, [(id, self.brokers[id], topic) for id, topic in topics], wanted)
        self._checkers.append(checker)
        return checker

    def await_exact(self, query: Query, *topics: tuple[str, str], wanted: Wanted = lambda record: True) -> None:
        """Wait until a running query has read all existing records, each once."""
        self.checker(query, *topics, wanted=wanted).await_exact(query.settle, alive=query.alive)

    def close(self) -> None:
        """Stop running queries, and look for what was delivered again or withdrawn after the comparisons."""
        for query in self._queries:
            if query.driver is not None and query.driver.is_alive() and query.terminated() is None:
                query.stop()
        for query in self._queries:
            assert_none_repeated(query.sink)
        for checker in self._checkers:
            checker.look_late()

    def _records(self, cluster: str, count: int) -> Iterable[Record]:
        from dynamic_kafka_testkit import Record

        for i in range(count):
            value = f"{cluster}-{next(self._numbers)}"
            yield Record(i % PARTITIONS, value, value)


def positions(offset: Mapping[str, object], section: str = "clusters") -> dict[tuple[str, str, int], int]:
    """The offsets in a section of a composite offset, by (cluster, topic, partition)."""
    found = json.loads(json.dumps(offset.get(section, {})))
    return {
        (cluster, topic, int(partition)): at
        for cluster, topics in found.items()
        for topic, partitions in topics.items()
        for partition, at in partitions.items()
    }


def since(starts: Mapping[tuple[str, str, int], int]) -> Wanted:
    """Selects records from these positions on."""

    def wanted(record: Seen) -> bool:
        start = starts.get((record.cluster, record.topic, record.partition))
        return start is not None and record.offset >= start

    return wanted
