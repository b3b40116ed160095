"""The environment of a test with queries that write: one topic that all of them read, and one output topic each."""

from __future__ import annotations

import copy
import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .anomalies import texts
from .driver_pool import DriverPool
from .metadata import MetadataFile
from .output_checker import OutputRecord, faults, visible, withdrawn
from .scene import PARTITIONS, Scene, positions
from .sink_query import PATIENCE_S, SinkQuery
from .waiting import until
from .watcher import Watcher

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

SOURCE = "blue"
# Clusters of two Kafka versions: those of `brokers` have the newest one.
TARGETS = ("green", "old")
KEYS = 8
PER_BATCH = 20
# A record that no query has written.
LAST = "the last one"


class Pipelines(Scene):
    """Created for each test."""

    def __init__(self, folder: Path, brokers: Mapping[str, Cluster], drivers: DriverPool) -> None:
        super().__init__(folder, brokers, drivers)
        self._payloads = itertools.count()
        self._compared: dict[str, SinkQuery] = {}
        self._before: dict[str, list[OutputRecord]] = {}
        self._source = self.topic(SOURCE)
        self._read = self.metadata("orders", SOURCE, topic=self._source)

    @property
    def targets(self) -> dict[str, Cluster]:
        """The clusters that queries write to."""
        return {name: self.brokers[name] for name in TARGETS}

    def writer(self, name: str, shape: str = "mapped", **write: str) -> SinkQuery:
        """Create a query without starting it."""
        streams = {stream: self.topic(*TARGETS) for stream in (("out", "copy") if shape == "both" else ("out",))}
        # The name is unique, because many tests share a driver.
        name = f"{name}-{streams['out']}"
        target = MetadataFile(self.folder / f"out-{streams['out']}.json")
        for cluster, broker in self.targets.items():
            target.cluster(cluster, broker.bootstrap_servers)
        for stream, topic in streams.items():
            target.stream(stream, {cluster: [topic] for cluster in TARGETS})
        target.write()
        writer = SinkQuery(
            name,
            self.folder / name,
            self._read.path,
            ["orders"],
            {"maxOffsetsPerTrigger": str(PER_BATCH)},
            target=target.path,
            topics=list(streams.values()),
            shape=shape,
            write=write,
        )
        self._queries.append(writer)
        return writer

    def copy(self, writer: SinkQuery) -> SinkQuery:
        """Another handle of the same query, on the same checkpoint, to run it in another driver."""
        copied = copy.copy(writer)
        self._queries.append(copied)
        return copied

    def orders(self, count: int) -> list[str]:
        """Produce this number of records for the queries to read, all keys in turn; return their values."""
        from dynamic_kafka_testkit import Record

        numbers = list(itertools.islice(self._payloads, count))
        payloads = [(f"k{n % KEYS}", f"k{n % KEYS}-{n:05d}") for n in numbers]
        # Each partition has keys for each cluster.
        records = [Record(int(key[1:]) // 2 % PARTITIONS, key, value) for key, value in payloads]
        self.brokers[SOURCE].produce(self._source, records)
        return [value for _, value in payloads]

    def visible(self, writer: SinkQuery) -> list[OutputRecord]:
        """The records of a query that are visible to `read_committed` readers."""
        return [record for topic in writer.topics for record in self._visible(topic)]

    def _visible(self, topic: str) -> list[OutputRecord]:
        return [record for record in visible(self.targets, topic) if record.value != LAST]

    def values(self, writer: SinkQuery) -> Counter[str]:
        """The payloads of the visible records."""
        return Counter(record.value for record in self.visible(writer))

    def uncommitted(self, writer: SinkQuery) -> set[str]:
        """The payloads that are visible to `read_uncommitted` readers, in transactions of any state."""
        return {str(record.value) for cluster in self.targets.values() for record in cluster.dump(writer.topic)}

    def watcher(self, *writers: SinkQuery) -> Watcher:
        """A watcher for visible records of these queries that disappear."""
        topics = [topic for writer in writers for topic in writer.topics]
        return Watcher((id, broker, topic) for topic in topics for id, broker in self.targets.items())

    def await_written(self, *writers: SinkQuery) -> None:
        """Wait until running queries have written everything, then compare it exactly."""
        for writer in writers:
            self._await_written(writer)

    def _await_written(self, writer: SinkQuery) -> None:
        source = self.brokers[SOURCE].end_offsets(self._source)

        def finished() -> bool:
            writer.alive()
            done = writer.checkpoint.committed()
            logged = writer.checkpoint.offsets()
            if not done or done[-1] not in logged:
                return False
            at = positions(logged[done[-1]])
            return all(at.get((SOURCE, self._source, p)) == end for p, end in source.items())

        until(f"all records of {writer.name}", finished, PATIENCE_S)
        self._compare(writer)
        self._compared[writer.topic] = writer

    def close(self) -> None:
        """Stop running queries, and look for what was written again or withdrawn after the last comparison."""
        super().close()
        for writer in self._compared.values():
            self._compare(writer, complete=False)

    def _compare(self, writer: SinkQuery, complete: bool = True) -> None:
        expected = self._expected(writer)
        records = self.visible(writer)
        if writer.write.get("clusterRouting") == "all":
            found = {id: [record for record in records if record.cluster == id] for id in TARGETS}
        else:
            found = {topic: self._visible(topic) for topic in writer.topics}
        found_faults = {place: faults(expected, there, complete) for place, there in found.items()}
        gone = withdrawn(self._before.get(writer.topic, []), records)
        if gone:
            found_faults["since the last comparison"] = texts({"withdrawn": gone})
        assert not any(found_faults.values()), f"{writer.name}: {found_faults}"
        self._before[writer.topic] = records

    def await_readers_pass(self, *writers: SinkQuery) -> None:
        """Wait until no transaction blocks readers. Leaves records in the topics."""
        from dynamic_kafka_testkit import Record

        topics = [topic for writer in writers for topic in writer.topics]
        places = [(cluster, topic) for topic in topics for cluster in self.targets.values()]
        ends = {
            (cluster.name, topic, at)
            for cluster, topic in places
            for at in cluster.produce(topic, [Record(p, LAST, LAST) for p in range(PARTITIONS)])
        }

        def passed() -> bool:
            seen = {
                (cluster.name, topic, (record.partition, record.offset))
                for cluster, topic in places
                for record in cluster.dump(topic, committed_only=True)
            }
            return ends <= seen

        until("readers that are not blocked", passed, PATIENCE_S)

    def _expected(self, writer: SinkQuery) -> Counter[str]:
        records = self.brokers[SOURCE].dump(self._source)
        if writer.shape in ("mapped", "both"):
            return Counter(str(record.value).upper() for record in records)
        found: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        before: dict[tuple[str, str, int], int] = {}
        for _, offset in sorted(writer.checkpoint.offsets().items()):
            at = positions(offset)
            keys = [
                str(r.key)
                for r in records
                if before.get(place := (SOURCE, self._source, r.partition), 0) <= r.offset < at.get(place, 0)
            ]
            counts.update(keys)
            found.update(f"{key}-{counts[key]:05d}" for key in set(keys))
            before = at
        return found
