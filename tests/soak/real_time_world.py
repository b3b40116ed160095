"""The environment of a soak test in real-time mode: from three clusters to one of them, at least once."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.harness.checker import stored
from tests.harness.driver_pool import DriverPool
from tests.harness.metadata import MetadataFile
from tests.harness.query import Query
from tests.harness.real_time_query import RealTimeQuery
from tests.harness.waiting import until

from .at_least_once import compare
from .layout import CLUSTERS, Event
from .sink_world import DISTURBANCES, PARTITIONS, RESTARTS_PER_OUTAGE, TARGET, WRITE
from .world import OPTIONS, QUIET_S, STREAM, World

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

# Where the query writes to.
ARCHIVE = CLUSTERS[0]
# Refused in this mode.
REFUSED = "maxOffsetsPerTrigger"
# The options of writes, without those of transactions.
WITHOUT_TRANSACTIONS = {name: value for name, value in WRITE.items() if name != "commitTimeoutMs"}


class RealTimeWorld(World):
    """The query writes the records as they are.

    A record is written once, and again at most once for each later run that began before its batch was finished.
    """

    settle_s = 400.0
    writes = True
    # The errors of a broker that was killed or frozen.
    outages = ("WRITE_FAILED", "CLUSTER_UNREACHABLE")

    def __init__(
        self,
        folder: Path,
        brokers: Mapping[str, Cluster],
        drivers: DriverPool,
        pause_s: float = 0.25,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._target = MetadataFile(folder / "out.json")
        self._disturbances = 0
        self._written_before = 0
        self._before: Counter[str] = Counter()
        self._repeated = 0
        super().__init__(folder, brokers, drivers, pause_s=pause_s)
        brokers[ARCHIVE].create_topic(self._out, PARTITIONS)

    @property
    def _out(self) -> str:
        return f"soak-{self._run}-out"

    def _query(self, folder: Path) -> Query:
        options = {name: value for name, value in OPTIONS.items() if name != REFUSED}
        return RealTimeQuery(
            f"soak-{self._run}",
            folder,
            self._metadata.path,
            [STREAM],
            options,
            target=self._target.path,
            write=WITHOUT_TRANSACTIONS,
        )

    @property
    def _copying(self) -> RealTimeQuery:
        assert isinstance(self.query, RealTimeQuery)
        return self.query

    def steps(self) -> int:
        """The number of records that were written; a batch may last longer than the pause between two events."""
        from dynamic_kafka_testkit import TestkitError

        with contextlib.suppress(TestkitError):
            self._written_before = sum(self._brokers[ARCHIVE].end_offsets(self._out).values())
        return self._written_before

    def summary(self) -> str:
        """A summary for the report."""
        batches = max(self.query.checkpoint.committed(), default=-1) + 1
        return (
            f"{self._before.total()} records in {batches} batches and {len(self._copying.starts)} runs, "
            f"{self._repeated} repeated, {len(self.restarts)} restarts after {self._disturbances} outages"
        )

    def happen(self, event: Event) -> None:
        """Count the events after which the query may fail."""
        self._disturbances += event.kind in DISTURBANCES
        super().happen(event)

    def await_exact(self) -> None:
        """Check that each record was written, and only those twice that a run may have repeated."""
        with contextlib.suppress(TimeoutError):
            until("all records", lambda: self._alive() and not self._unwritten(), self.settle_s)
        self._compare()
        # What comes late, comes now or never.
        time.sleep(QUIET_S)
        self._copying.end()
        self._compare()

    def _compare(self) -> None:
        produced = stored(self._topics()).elements()
        result = compare(produced, self._written(), self._copying.starts, self._before)
        assert not result.anomalies, "; ".join(result.anomalies)
        self._before, self._repeated = result.found, result.repeated

    def _unwritten(self, cluster: str | None = None, topics: set[str] | None = None) -> set[str]:
        """The values of all records, or of some topics of a cluster, that were not written."""
        chosen = [
            (name, broker, topic)
            for name, broker, topic in self._topics()
            if (cluster is None or name == cluster) and (topics is None or topic in topics)
        ]
        return {record.value for record in stored(chosen)} - self._written().keys()

    def _written(self) -> Counter[str]:
        return Counter(str(record.value) for record in self._brokers[ARCHIVE].dump(self._out, committed_only=True))

    def _is_idle(self, cluster: str) -> bool:
        """Whether the query has written the cluster's topics that are in the metadata, and has no other position."""
        self._alive()
        named = {self._topic(number) for number in self._layout.named(cluster)}
        if self._layout.state[cluster] == "active":
            return not self._unwritten(cluster, named)
        last: Mapping[str, Any] = self.query.checkpoint.last()
        return not last.get("clusters", {}).get(cluster)

    def _sees_an_outage(self) -> bool:
        # The progress comes at the end of a batch, which an outage does not cause.
        return False

    def _write(self) -> None:
        super()._write()
        self._target.cluster(ARCHIVE, self._brokers[ARCHIVE].bootstrap_servers)
        self._target.set_entry(TARGET, ARCHIVE, [self._out])
        self._target.write()

    def _allowed_restarts(self) -> int:
        return RESTARTS_PER_OUTAGE * self._disturbances
