"""The environment of a soak test."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.checker import Checker
from tests.harness.driver_pool import DriverPool
from tests.harness.load import Load
from tests.harness.metadata import MetadataFile
from tests.harness.query import Query
from tests.harness.waiting import until

from .plan import Event, Layout

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

STREAM = "orders"
OPTIONS = {
    "clusterFailurePolicy": "skip",
    "clusterRequestTimeoutMs": "10000",
    "streamMetadataDiscoveryFailureThreshold": "100000",
    "maxOffsetsPerTrigger": "400",
}
# How long to wait until a frozen broker is noticed: if it froze while a task was reading from it, the query reports
# nothing before it thaws.
FREEZE_S = 12.0
SETTLE_S = 300.0


class World:
    """Brokers, load, the metadata file and one query, which reads.

    Args:
        folder: For all files.
        brokers: The brokers by cluster id.
        drivers: The pool of drivers.
    """

    settle_s = SETTLE_S
    writes = False
    """Whether the query writes to a stream."""

    def __init__(self, folder: Path, brokers: Mapping[str, Cluster], drivers: DriverPool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._run = uuid.uuid4().hex[:6]
        self._brokers = brokers
        self._drivers = drivers
        self._layout = Layout()
        self._metadata = MetadataFile(folder / "streams.json")
        self.load = Load(dict(brokers), pause_s=0.25)
        self.query = self._query(folder)

    def _query(self, folder: Path) -> Query:
        return Query(f"soak-{self._run}", folder, self._metadata.path, [STREAM], OPTIONS)

    def steps(self) -> int:
        """The progress of the query: grows while it is not idle."""
        return self.query.sink.count()

    def summary(self) -> str:
        """A summary for the report."""
        sink = self.query.sink
        return f"{sink.count()} records in {len(sink.batches())} batches, {len(sink.replayed())} replayed"

    def happen(self, event: Event) -> None:
        """Execute an event; if the event says so, wait until it has an effect."""
        steps = self.steps()
        getattr(self, "_" + event.kind, self._nothing)(event)
        self._layout.apply(event)
        self._write()
        if event.settles and self._is_up():
            until(f"rows after {event}", lambda: self._alive() and self.steps() > steps, self.settle_s)

    def await_exact(self) -> None:
        """Check, with everything active, that each record is read once and that the checkpoint has no leftovers."""
        checker = Checker(self.query.sink, self._topics())
        checker.await_exact(self.query.settle, 180, self._alive)
        # If the very last records were the first ones of a topic, `entered` remains, because no batch follows.
        expected = {"version", "clusters", "identities"}
        until("no retained, no draining", lambda: self.query.checkpoint.last().keys() - {"entered"} == expected)

    def close(self) -> None:
        """End the driver."""
        if self.query.driver is not None:
            self.query.driver.kill()

    def _write(self) -> None:
        entries = {name: self._entry(name) for name in self._brokers if self._entry(name)}
        for name, broker in self._brokers.items():
            self._metadata.cluster(name, broker.bootstrap_servers)
        self._metadata.stream(STREAM, {})
        for name, topics in entries.items():
            self._metadata.set_entry(STREAM, name, topics, state=self._layout.state[name])
        if entries:
            self._metadata.write()

    def _entry(self, name: str) -> list[str]:
        return [self._topic(number) for number in self._layout.named(name)] if self._layout.state[name] else []

    def _topic(self, number: int) -> str:
        # The same name on all clusters, so that only the cluster distinguishes them.
        return f"soak-{self._run}-{number}"

    def _topics(self) -> list[tuple[str, Cluster, str]]:
        return [
            (name, broker, self._topic(number))
            for name, broker in self._brokers.items()
            for number in range(len(self._layout.topics[name]))
        ]

    def _nothing(self, event: Event) -> None:
        """Events that only change the metadata file."""

    def _add_topic(self, event: Event) -> None:
        self._brokers[event.cluster].create_topic(self._topic(event.topic), 2)
        self.load.add(event.cluster, self._topic(event.topic), 2)

    def _add_partition(self, event: Event) -> None:
        total = self._layout.partitions[event.cluster][event.topic] + 1
        self._brokers[event.cluster].add_partitions(self._topic(event.topic), total)
        self.load.add(event.cluster, self._topic(event.topic), total)

    def _move_cluster(self, event: Event) -> None:
        """Move a cluster while the query reads nothing from it: a running task would need the old address."""
        with self.load.hold(event.cluster):
            if self._is_up():
                until(f"nothing to read from {event.cluster}", lambda: self._is_idle(event.cluster), SETTLE_S)
            self._brokers[event.cluster].restart_on_new_port()

    def _restart_broker(self, event: Event) -> None:
        self._brokers[event.cluster].kill()
        self._brokers[event.cluster].restart()

    def _freeze_broker(self, event: Event) -> None:
        broker = self._brokers[event.cluster]
        broker.freeze()
        try:
            with contextlib.suppress(TimeoutError):
                until("an unreachable cluster", self._sees_an_outage, FREEZE_S)
        finally:
            broker.thaw()

    def _kill_driver(self, event: Event) -> None:
        assert self.query.driver is not None
        self.query.driver.kill()
        self._drivers.prepare()

    def _start_driver(self, event: Event) -> None:
        self.query.begin(self._drivers.doomed())

    def _is_idle(self, cluster: str) -> bool:
        """Whether the query has read the cluster's topics that are in the metadata, and has no other position."""
        self._alive()
        broker, named = self._brokers[cluster], self._layout.named(cluster)
        ends = {self._topic(number): broker.end_offsets(self._topic(number)) for number in named}
        wanted = ends if self._layout.state[cluster] == "active" else {}
        read = self.query.checkpoint.last().get("clusters", {}).get(cluster, {})
        at = {topic: {int(p): offset for p, offset in positions.items()} for topic, positions in read.items()}
        return at == wanted and not self.query.checkpoint.unfinished()

    def _sees_an_outage(self) -> bool:
        return self._is_up() and self.query.metric("unreachableClusters") not in (None, "0")

    def _is_up(self) -> bool:
        return self.query.driver is not None and self.query.driver.is_alive()

    def _alive(self) -> bool:
        self.query.alive()
        return True
