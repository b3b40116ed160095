"""The environment of a soak test."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.checker import Checker
from tests.harness.driver_pool import DriverPool
from tests.harness.load import Load
from tests.harness.metadata import MetadataFile
from tests.harness.query import Query
from tests.harness.waiting import until

from .layout import CLUSTERS, Event, Layout
from .losses import FLUSH_S, Losses, finished, known_id
from .nodes import NodeFaults

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

STREAM = "orders"
OPTIONS = {
    "clusterFailurePolicy": "skip",
    "clusterRequestTimeoutMs": "15000",
    "streamMetadataDiscoveryFailureThreshold": "100000",
    "maxOffsetsPerTrigger": "400",
    # Several clusters leave between two answers of the service, also while the driver is dead.
    "maxRemovedClustersPerChange": str(len(CLUSTERS)),
}
# How long to wait until a frozen broker is noticed: if it froze while a task was reading from it, the query reports
# nothing before it thaws.
FREEZE_S = 18.0
SETTLE_S = 300.0
# How long the query may take until it has noticed that a topic does not exist.
LEAVES_S = 20.0
# Within this time the query uses a change of the metadata: removals need two polls.
POLLED_S = 3.0
# How long the brokers are left alone after the query has ended, before the last comparison.
QUIET_S = 10.0
# With `clusterFailurePolicy=skip` a query ends for an unreachable cluster only if it has to read a logged batch again:
# on a very busy machine. The restarts of its operator are counted.
MOST_RESTARTS = 3


class World:
    """Brokers, load, the metadata file and one query, which reads.

    Args:
        folder: For all files.
        brokers: The brokers by cluster id.
        drivers: The pool of drivers.
        options: Options of the source in addition to `OPTIONS`.
        pause_s: The pause between two batches of the load.
    """

    settle_s = SETTLE_S
    writes = False
    """Whether the query writes to a stream."""
    outages: tuple[str, ...] = ("CLUSTER_UNREACHABLE",)
    """Errors after which the query is restarted, as its operator would do."""

    def __init__(
        self,
        folder: Path,
        brokers: Mapping[str, Cluster],
        drivers: DriverPool,
        options: Mapping[str, str] | None = None,
        pause_s: float = 0.25,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._run = uuid.uuid4().hex[:6]
        self._brokers = brokers
        self._drivers = drivers
        self._options = OPTIONS | dict(options or {})
        self.restarts: list[str] = []
        self._losses = Losses()
        self._former: dict[tuple[str, str], set[str]] = {}
        self._nodes = NodeFaults()
        self._layout = Layout()
        self._metadata = MetadataFile(folder / "streams.json")
        self.load = Load(dict(brokers), pause_s=pause_s)
        self.query = self._query(folder)

    def _query(self, folder: Path) -> Query:
        return Query(f"soak-{self._run}", folder, self._metadata.path, [STREAM], self._options)

    def steps(self) -> int:
        """The progress of the query: grows while it is not idle."""
        return self.query.sink.last_batch()

    def summary(self) -> str:
        """A summary for the report."""
        sink = self.query.sink
        return (
            f"{sink.count()} records in {len(sink.batches())} batches, {len(sink.replayed())} replayed, "
            f"{len(self._losses.lost)} declared lost, {self._losses.gone.total()} read and then deleted, "
            f"{len(self.restarts)} restarts, elections: {dict(self._nodes.elections)}"
        )

    def watched(self) -> AbstractContextManager[object]:
        """Look for withdrawn records while the body of `with` runs."""
        return contextlib.nullcontext()

    def reached(self) -> Mapping[str, int]:
        """How often transactions have reached their time limit, by circumstance."""
        return {}

    def is_up(self) -> bool:
        """Whether the driver is running."""
        return self.query.driver is not None and self.query.driver.is_alive()

    def happen(self, event: Event) -> None:
        """Execute an event; if the event says so, wait until it has an effect."""
        steps = self.steps()
        getattr(self, "_" + event.kind, self._nothing)(event)
        self._layout.apply(event)
        self._write()
        if event.settles and self.is_up():
            until(f"a batch after {event}", lambda: self._alive() and self.steps() > steps, self.settle_s)

    def await_exact(self) -> None:
        """Check, with everything active, that each record is read once and that the checkpoint has no leftovers."""
        losses = self._losses
        checker = Checker(self.query.sink, self._topics(), gone=losses.gone, lost=losses.lost)
        checker.await_exact(self.query.settle, self.settle_s, self._alive)
        # If the very last records were the first ones of a topic, these remain, because no batch follows.
        expected = {"version", "clusters", "identities"}
        remaining = {"entered", "earlier"}
        until("no retained, no draining", lambda: self.query.checkpoint.last().keys() - remaining == expected)
        # What comes late, comes now or never.
        time.sleep(QUIET_S)
        self.query.stop()
        checker.look_at_end()

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
        with self._still(event.cluster):
            self._brokers[event.cluster].restart_on_new_port()

    def _cut_topic(self, event: Event) -> None:
        """Delete half of the records of each partition that the query has not read, or all that it has read."""
        with self._still(event.cluster):
            broker, topic = self._brokers[event.cluster], self._topic(event.topic)
            read = self._finished(event.cluster, topic)
            below = {p: _half(read.get(p, 0), end) for p, end in broker.end_offsets(topic).items()}
            self._losses.declare(event.cluster, broker, topic, below, read)
            for partition, offset in below.items():
                broker.delete_records(topic, partition, offset)
            # Also if the broker is killed next.
            time.sleep(2 * FLUSH_S)

    def _recreate_topic(self, event: Event) -> None:
        """Delete a topic, and create it again with as many partitions; the query notices both, or the second only."""
        with self._still(event.cluster):
            broker, topic = self._brokers[event.cluster], self._topic(event.topic)
            read, ends = self._finished(event.cluster, topic), broker.end_offsets(topic)
            self._losses.declare(event.cluster, broker, topic, ends, read)
            known = known_id(self.query.checkpoint, event.cluster, topic)
            if known is not None:
                self._former.setdefault((event.cluster, topic), set()).add(known)
            broker.delete_topic(topic)
            if event.settles and self.is_up():
                with contextlib.suppress(TimeoutError):
                    until(f"the end of {topic}", lambda: not self._reads(event.cluster, topic), LEAVES_S)
            broker.create_topic(topic, len(ends))

    def _finished(self, cluster: str, topic: str) -> dict[int, int]:
        return finished(self.query.checkpoint, cluster, topic, self._former.get((cluster, topic), ()))

    def _kill_leader(self, event: Event) -> None:
        self._nodes.kill_leader(self._brokers[event.cluster], self._topic(0), self._flows)

    def _freeze_leader(self, event: Event) -> None:
        self._nodes.freeze_leader(self._brokers[event.cluster], self._topic(0), self._flows)

    def _restart_leader(self, event: Event) -> None:
        self._nodes.restart_leader(self._brokers[event.cluster], self._topic(0))

    def _kill_controller(self, event: Event) -> None:
        self._nodes.kill_controller(self._brokers[event.cluster], self._flows)

    def _roll_nodes(self, event: Event) -> None:
        self._nodes.roll(self._brokers[event.cluster])

    def _flows(self) -> None:
        """Wait until the query has finished another batch, if it is running."""
        if self.is_up():
            steps = self.steps()
            until("a batch in the outage of a broker", lambda: self._alive() and self.steps() > steps, SETTLE_S)

    @contextlib.contextmanager
    def _still(self, cluster: str) -> Iterator[None]:
        """Nothing is produced to a cluster, and nothing is read from it."""
        with self.load.hold(cluster):
            if self.is_up():
                until(f"nothing to read from {cluster}", lambda: self._stays_idle(cluster), SETTLE_S)
            yield

    def _reads(self, cluster: str, topic: str) -> bool:
        self._alive()
        return topic in self.query.checkpoint.last().get("clusters", {}).get(cluster, {})

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

    def _stays_idle(self, cluster: str) -> bool:
        """As `_is_idle`, also when the query has used the metadata as they are now."""
        if not self._is_idle(cluster):
            return False
        time.sleep(POLLED_S)
        return self._is_idle(cluster)

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
        return self.is_up() and self.query.metric("unreachableClusters") not in (None, "0")

    def _alive(self) -> bool:
        end = self.query.terminated()
        if (
            end is not None
            and end["error"]
            and any(f"DYNAMIC_KAFKA.{name}]" in end["error"] for name in self.outages)
        ):
            assert self.query.driver is not None
            self.restarts.append(end["error"])
            allowed = self._allowed_restarts()
            assert len(self.restarts) <= allowed, f"more than {allowed} restarts:\n" + "\n".join(self.restarts)
            self.query.begin(self.query.driver)
        self.query.alive()
        return True

    def _allowed_restarts(self) -> int:
        return MOST_RESTARTS


def _half(read: int, end: int) -> int:
    """The offset in the middle of what is not read yet."""
    return (read + end + 1) // 2 if read < end else end
