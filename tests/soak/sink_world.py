"""Where the events of a soak happen whose query writes: from three clusters to the same three, exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.driver_pool import DriverPool
from tests.harness.metadata import MetadataFile
from tests.harness.query import Query
from tests.harness.sink_query import SinkQuery
from tests.harness.waiting import until

from .plan import Event
from .world import OPTIONS, STREAM, World

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

TARGET = "out"
PARTITIONS = 2
# A cluster that is out is not waited for as long as users would: the query fails and is started again.
WRITE = {
    "kafka.delivery.timeout.ms": "20000",
    "kafka.request.timeout.ms": "10000",
    "kafka.max.block.ms": "20000",
    "commitTimeoutMs": "20000",
    "streamMetadataDiscoveryFailureThreshold": "100000",
}
# With these a query may fail when a broker is killed or frozen; it is started again, as whoever runs it would do.
OUTAGES = ("WRITE_FAILED", "COMMIT_INCOMPLETE", "TRANSACTIONS_ABORTED")
# Events that take a broker out, and how often at most the query fails over each of them.
DISTURBANCES = ("restart_broker", "freeze_broker", "move_cluster")
MOST_RESTARTS = 2


class SinkWorld(World):
    """Each record that is read is counted by its value, which is a state and one update for each; that is written."""

    settle_s = 400.0
    writes = True

    def __init__(self, folder: Path, brokers: Mapping[str, Cluster], drivers: DriverPool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._target = MetadataFile(folder / "out.json")
        self.restarts: list[str] = []
        self._disturbances = 0
        super().__init__(folder, brokers, drivers)
        for broker in brokers.values():
            broker.create_topic(self._out, PARTITIONS)

    @property
    def _out(self) -> str:
        return f"soak-{self._run}-out"

    def _query(self, folder: Path) -> Query:
        return SinkQuery(
            f"soak-{self._run}",
            folder,
            self._metadata.path,
            [STREAM],
            OPTIONS,
            target=self._target.path,
            topic=self._out,
            shape="once",
            write=WRITE,
        )

    def steps(self) -> int:
        """The last batch that is done."""
        return max(self.query.checkpoint.committed(), default=-1)

    def told(self) -> str:
        """What has happened, for the report."""
        written = sum(self._written().values())
        restarts = f"{len(self.restarts)} restarts after {self._disturbances} outages"
        return f"{written} records in {self.steps() + 1} batches, {restarts}"

    def happen(self, event: Event) -> None:
        """Count those that the query may fail over."""
        self._disturbances += event.kind in DISTURBANCES
        super().happen(event)

    def await_exact(self) -> None:
        """What readers with `read_committed` find is what was produced, each record once, and stays so."""
        until("all records", lambda: self._alive() and self._written() == self._produced(), self.settle_s)
        self.query.settle()
        self.query.stop()
        assert self._written() == self._produced()

    def _written(self) -> Counter[str]:
        return Counter(
            str(record.value)
            for broker in self._brokers.values()
            for record in broker.dump(self._out, committed_only=True)
        )

    def _produced(self) -> Counter[str]:
        return Counter(str(record.value) for _, broker, topic in self._topics() for record in broker.dump(topic))

    def _write(self) -> None:
        super()._write()
        for name, broker in self._brokers.items():
            self._target.cluster(name, broker.bootstrap_servers)
            self._target.set_entry(TARGET, name, [self._out], write=self._layout.writable[name])
        self._target.write()

    def _start_driver(self, event: Event) -> None:
        self.query.begin(self._drivers.doomed())

    def _alive(self) -> bool:
        end = self.query.terminated()
        if end is not None and end["error"] and any(f"DYNAMIC_KAFKA.{name}]" in end["error"] for name in OUTAGES):
            assert self.query.driver is not None
            self.restarts.append(end["error"])
            allowed = MOST_RESTARTS * self._disturbances
            assert len(self.restarts) <= allowed, f"more than {allowed} restarts:\n" + "\n".join(self.restarts)
            self.query.begin(self.query.driver)
        return super()._alive()
