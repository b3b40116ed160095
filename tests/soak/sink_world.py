"""The environment of a soak test whose query writes: from three clusters to the same three, exactly once."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.anomalies import classify, texts
from tests.harness.driver_pool import DriverPool
from tests.harness.key_order import KeyOrder, SourceRecord, compare_order, source_records
from tests.harness.metadata import MetadataFile
from tests.harness.output_checker import OutputRecord, line_of, visible
from tests.harness.query import Query
from tests.harness.sink_query import SinkQuery
from tests.harness.waiting import until
from tests.harness.watcher import Watcher

from .layout import OF_NODES, Event
from .timeouts import Timeouts
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
# All output is read at each look.
WATCH_S = 30.0
# The number of records that are sent at once, the last one of which stops a task.
SENT = 8


class SinkWorld(World):
    """The query writes the records as they are, in the order of each key.

    Args:
        folder: As of World, like the following ones.
        brokers: These clusters are written to as well.
        drivers: The pool of drivers.
        options: Of the source.
        pause_s: Of the load.
        state: Whether the query counts the records by value instead, and writes the updates: one for each, without an
            order.
    """

    settle_s = 400.0
    writes = True
    # The errors of a broker that was killed or frozen.
    outages = ("WRITE_FAILED", "COMMIT_INCOMPLETE", "TRANSACTIONS_ABORTED")

    def __init__(
        self,
        folder: Path,
        brokers: Mapping[str, Cluster],
        drivers: DriverPool,
        options: Mapping[str, str] | None = None,
        pause_s: float = 0.25,
        state: bool = False,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._target = MetadataFile(folder / "out.json")
        self._state = state
        self._disturbances = 0
        self._changes = 0
        self._before: Counter[str] = Counter()
        self._order: KeyOrder | None = None
        super().__init__(folder, brokers, drivers, options, pause_s)
        for broker in brokers.values():
            broker.create_topic(self._out, PARTITIONS)
        self._watcher = Watcher(((id, broker, self._out) for id, broker in brokers.items()), WATCH_S)
        assert isinstance(self.query, SinkQuery)
        self.timeouts = Timeouts(self.query, brokers, drivers, self._send, self._alive)

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
            topics=[self._out],
            shape="once" if self._state else "ordered",
            write=WRITE,
        )

    def steps(self) -> int:
        """The last finished batch."""
        return max(self.query.checkpoint.committed(), default=-1)

    def summary(self) -> str:
        """A summary for the report."""
        found = [f"{self._before.total()} records in {self.steps() + 1} batches"]
        found += [f"{len(self.restarts)} restarts after {self._disturbances} outages"]
        reached = self.timeouts.reached
        found += [f"{reached.total()} time limits of transactions reached: {dict(sorted(reached.items()))}"]
        found += [
            f"{self.timeouts.transactions} transactions aborted by them, {self.timeouts.tries} runs too slow"
        ]
        if self._order is not None:
            order = self._order
            found += [f"{order.keys} keys in {order.sequences} sequences compared in order"]
            found += [f"{order.moves} moves of keys after {self._changes} changes of the targets"]
        return ", ".join([*found, f"watched {self._watcher.looks} times"])

    def watched(self) -> AbstractContextManager[object]:
        """Look for withdrawn records in the output."""
        return self._watcher

    def reached(self) -> Mapping[str, int]:
        """How often transactions have reached their time limit."""
        return self.timeouts.reached

    def happen(self, event: Event) -> None:
        """Count the events after which the query may fail, and those that move keys."""
        self._disturbances += event.kind in DISTURBANCES
        self._changes += event.kind in ("close_target", "open_target")
        super().happen(event)

    def _outlast_frozen(self, event: Event) -> None:
        self.timeouts.frozen(event.step)

    def _outlast_dead(self, event: Event) -> None:
        self.timeouts.dead(event.step)

    def _send(self) -> str:
        """Produce a few records to one partition that the query reads; return the value of the last one."""
        cluster = self._layout.active()[0]
        return self.load.send(cluster, self._topic(self._layout.named(cluster)[0]), SENT)

    def await_exact(self) -> None:
        """Check that `read_committed` readers find each produced record once, also after the query is idle."""
        with contextlib.suppress(TimeoutError):
            until("all records", lambda: self._alive() and self._written() == self._produced(), self.settle_s)
        self._compare()
        self.query.settle()
        self._compare()
        self._watcher.look_again()
        time.sleep(QUIET_S)
        self.query.stop()
        self._compare()

    def _compare(self) -> None:
        read, seen = self._read(), self._visible()
        produced, written = Counter(r.value for r in read), Counter(r.value for r in seen)
        reports = classify(produced, written, line_of, before=self._before)
        if not self._state:
            self._order = compare_order(read, seen, self._changes)
            reports |= self._order.reports
        found = texts(reports)
        assert not found, "; ".join(found)
        self._before = written

    def _written(self) -> Counter[str]:
        return Counter(record.value for record in self._visible())

    def _produced(self) -> Counter[str]:
        return Counter(record.value for record in self._read())

    def _visible(self) -> list[OutputRecord]:
        return visible(self._brokers, self._out)

    def _read(self) -> list[SourceRecord]:
        return source_records(self._topics())

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
