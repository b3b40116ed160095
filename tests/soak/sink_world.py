"""The environment of a soak test whose query writes: from three clusters to the same three, exactly once."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.anomalies import classify, texts
from tests.harness.driver_pool import DriverPool
from tests.harness.metadata import MetadataFile
from tests.harness.output_checker import line_of
from tests.harness.query import Query
from tests.harness.sink_query import SinkQuery
from tests.harness.waiting import until

from .layout import OF_NODES, Event
from .world import QUIET_S, STREAM, World

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

TARGET = "out"
PARTITIONS = 2
# Shorter limits than those of users: if a cluster is unreachable, the query fails and is restarted.
WRITE = {
    "kafka.delivery.timeout.ms": "20000",
    "kafka.request.timeout.ms": "10000",
    "kafka.max.block.ms": "20000",
    "commitTimeoutMs": "20000",
    "streamMetadataDiscoveryFailureThreshold": "100000",
}
# Events that make a broker unreachable, and how often the query may fail for each of them.
DISTURBANCES = ("restart_broker", "freeze_broker", "move_cluster", *OF_NODES)
RESTARTS_PER_OUTAGE = 2


class SinkWorld(World):
    """The query counts the records by value, with a state and one update for each, and writes the updates."""

    settle_s = 400.0
    writes = True
    # Of a broker that was killed or frozen.
    outages = ("WRITE_FAILED", "COMMIT_INCOMPLETE", "TRANSACTIONS_ABORTED")

    def __init__(
        self,
        folder: Path,
        brokers: Mapping[str, Cluster],
        drivers: DriverPool,
        options: Mapping[str, str] | None = None,
        pause_s: float = 0.25,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._target = MetadataFile(folder / "out.json")
        self._disturbances = 0
        self._before: Counter[str] = Counter()
        super().__init__(folder, brokers, drivers, options, pause_s)
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
            self._options,
            target=self._target.path,
            topic=self._out,
            shape="once",
            write=WRITE,
        )

    def steps(self) -> int:
        """The last finished batch."""
        return max(self.query.checkpoint.committed(), default=-1)

    def summary(self) -> str:
        """A summary for the report."""
        written = sum(self._written().values())
        restarts = f"{len(self.restarts)} restarts after {self._disturbances} outages"
        return f"{written} records in {self.steps() + 1} batches, {restarts}"

    def happen(self, event: Event) -> None:
        """Count the events after which the query may fail."""
        self._disturbances += event.kind in DISTURBANCES
        super().happen(event)

    def await_exact(self) -> None:
        """Check that `read_committed` readers find each produced record once, also after the query is idle."""
        with contextlib.suppress(TimeoutError):
            until("all records", lambda: self._alive() and self._written() == self._produced(), self.settle_s)
        self._compare()
        self.query.settle()
        self._compare()
        time.sleep(QUIET_S)
        self.query.stop()
        self._compare()

    def _compare(self) -> None:
        written = self._written()
        found = texts(classify(self._produced(), written, line_of, before=self._before))
        assert not found, "; ".join(found)
        self._before = written

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

    def _allowed_restarts(self) -> int:
        return RESTARTS_PER_OUTAGE * self._disturbances
