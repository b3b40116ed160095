"""Compares the records in Kafka with the records in a query's sink, exactly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .waiting import DEADLINE_S, until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


class Seen(NamedTuple):
    """A record with its position."""

    cluster: str
    topic: str
    partition: int
    offset: int
    value: str


class SinkFolder:
    """The output of a query over all its runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache: dict[Path, tuple[int, list[Seen]]] = {}

    def batches(self) -> dict[int, list[Seen]]:
        """Rows by batch id."""
        files = sorted((self._folder / "sink").glob("[0-9]*.json"), key=lambda path: int(path.stem))
        return {int(path.stem): self._rows(path) for path in files}

    def records(self) -> Counter[Seen]:
        """The multiset of all rows."""
        return Counter(row for rows in self.batches().values() for row in rows)

    def count(self, cluster: str | None = None) -> int:
        """The number of rows, in total or of one cluster."""
        batches = self.batches().values()
        if cluster is None:
            return sum(len(rows) for rows in batches)
        return sum(row.cluster == cluster for rows in batches for row in rows)

    def values(self) -> list[str]:
        """All values, in order."""
        return sorted(row.value for row in self.records().elements())

    def tries(self, batch: int) -> list[list[Seen]]:
        """The rows of each attempt of a batch."""
        files = sorted((self._folder / "attempts").glob(f"{batch}.*.json"), key=lambda p: int(p.suffixes[0][1:]))
        return [_rows(path) for path in files]

    def changed_replays(self) -> list[int]:
        """Batches whose attempts had different rows."""
        batches = {int(path.name.split(".")[0]) for path in (self._folder / "attempts").glob("[0-9]*.json")}
        return [b for b in sorted(batches) if len(set(self._texts(b))) > 1]

    def _texts(self, batch: int) -> list[str]:
        return [path.read_text() for path in (self._folder / "attempts").glob(f"{batch}.*.json")]

    def replayed(self) -> list[int]:
        """Batches that ran more than once."""
        return sorted(int(path.name.split(".")[0]) for path in (self._folder / "attempts").glob("*.1.json"))

    def _rows(self, path: Path) -> list[Seen]:
        stamp = path.stat().st_mtime_ns
        if path not in self._cache or self._cache[path][0] != stamp:
            self._cache[path] = (stamp, _rows(path))
        return self._cache[path][1]


Wanted = Callable[[Seen], bool]


class Checker:
    """Compares the records that a query has to read with those that it has read.

    Args:
        sink: The output of the query.
        topics: (cluster id, its broker, topic), all that the query has had in its lifetime.
        wanted: Selects the records that the query has to read. Default: all.
    """

    def __init__(
        self,
        sink: SinkFolder,
        topics: Iterable[tuple[str, Cluster, str]],
        wanted: Wanted = lambda record: True,
    ) -> None:
        self._sink = sink
        self._topics = list(topics)
        self._wanted = wanted

    def stored(self) -> Counter[Seen]:
        """The records in the brokers, read with plain consumers."""
        return stored(self._topics, self._wanted)

    def await_exact(
        self,
        settle: Callable[[], object],
        deadline_s: float = DEADLINE_S,
        alive: Callable[[], object] = lambda: None,
    ) -> None:
        """Wait for the expected number of records, compare, and compare again when the query is idle.

        Args:
            settle: Returns when the query is idle. A duplicate may arrive late.
            deadline_s: When to stop waiting and to compare, so that the error lists what is missing.
            alive: Raises if waiting is useless.
        """
        expected = self.stored()

        def enough() -> bool:
            alive()
            return self._sink.count() >= expected.total()

        try:
            until("all records in the sink", enough, deadline_s)
        except TimeoutError:
            pass
        compare(expected, self._sink)
        settle()
        compare(expected, self._sink)


def stored(topics: Iterable[tuple[str, Cluster, str]], wanted: Wanted = lambda record: True) -> Counter[Seen]:
    """The multiset of records in the brokers."""
    found: Counter[Seen] = Counter()
    for cluster_id, cluster, topic in topics:
        for record in cluster.dump(topic):
            seen = Seen(cluster_id, topic, record.partition, record.offset, str(record.value))
            if wanted(seen):
                found[seen] += 1
    return found


def compare(expected: Mapping[Seen, int], sink: SinkFolder) -> None:
    """Raise an AssertionError that lists lost, repeated and unnecessarily read records."""
    found = sink.records()
    lost = sorted((Counter(expected) - found).elements())
    surplus = sorted((found - Counter(expected)).elements())
    repeated = [row for row in surplus if row in expected]
    foreign = [row for row in surplus if row not in expected]
    changed = sink.changed_replays()
    faults: dict[str, Sequence[object]] = {
        "lost": lost,
        "repeated": repeated,
        "not to be read": foreign,
        "changed replays": changed,
    }
    reports = [f"{len(rows)} {what}: {rows[:5]}" for what, rows in faults.items() if rows]
    assert not reports, "; ".join(reports)


def assert_none_repeated(sink: SinkFolder) -> None:
    """Raise an AssertionError if a query has delivered a record in several rows, whatever it had to read."""
    repeated = [row for row, count in sink.records().items() if count > 1]
    assert not repeated, f"{len(repeated)} repeated: {sorted(repeated)[:5]}"


def _rows(path: Path) -> list[Seen]:
    return [Seen(*row[:5]) for row in json.loads(path.read_text())]
