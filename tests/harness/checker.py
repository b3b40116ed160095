"""Compares the records in Kafka with the records in a query's sink, exactly."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .anomalies import classify, texts
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

    def last_batch(self) -> int:
        """The id of the last batch, or -1."""
        folder = self._folder / "sink"
        names = os.listdir(folder) if folder.is_dir() else []
        return max((int(name.split(".")[0]) for name in names if name[0].isdigit()), default=-1)

    def changed_replays(self, lost: Collection[Seen] = ()) -> list[int]:
        """Batches whose attempts had different rows, apart from those that Kafka deleted between two attempts."""
        return [b for b in self.replayed() if len({_without(lost, rows) for rows in self.tries(b)}) > 1]

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
    """Compares the records that a query has to read with those that it has read, at each look.

    Args:
        sink: The output of the query.
        topics: (cluster id, its broker, topic), all that the query has had in its lifetime.
        wanted: Selects the records that the query has to read. Default: all.
        gone: Records that the query had read before Kafka deleted them: each is in the output once.
        lost: Records that Kafka deleted before the query had finished a batch with them: a replay lacks them.
        committed_only: Whether the query reads with `read_committed`: records of other transactions are aborted reads.
    """

    def __init__(
        self,
        sink: SinkFolder,
        topics: Iterable[tuple[str, Cluster, str]],
        wanted: Wanted = lambda record: True,
        gone: Mapping[Seen, int] | None = None,
        lost: Collection[Seen] = (),
        committed_only: bool = False,
    ) -> None:
        self._sink = sink
        self._topics = list(topics)
        self._wanted = wanted
        self._gone = Counter(gone or {})
        self._lost = lost
        self._committed_only = committed_only
        self._before: Counter[Seen] = Counter()

    def stored(self) -> Counter[Seen]:
        """The records in the brokers, read with plain consumers."""
        return stored(self._topics, self._wanted, self._committed_only)

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
        expected = self.stored() | self._gone
        aborted = self._aborted()

        def enough() -> bool:
            alive()
            return self._sink.count() >= expected.total()

        try:
            until("all records in the sink", enough, deadline_s)
        except TimeoutError:
            pass
        self._look(expected, aborted)
        settle()
        self._look(expected, aborted)

    def look_at_end(self) -> None:
        """Compare everything once more, when the query has ended: nothing may be added or withdrawn after this."""
        self._look(self.stored() | self._gone, self._aborted())

    def look_late(self) -> None:
        """Look, when the query has ended, for what has been delivered again or withdrawn since the last comparison.

        The brokers may be down, and records may have been produced that no comparison waits for.
        """
        found = self._sink.records()
        more = {row for row in found if row not in self._before}
        _refuse(classify(self._before + Counter(more), found, _line_of, before=self._before, complete=False))

    def _look(self, expected: Mapping[Seen, int], aborted: Collection[Seen]) -> None:
        compare(expected, self._sink, aborted, self._before, self._lost)
        self._before = self._sink.records()

    def _aborted(self) -> Collection[Seen]:
        if not self._committed_only:
            return ()
        return (stored(self._topics, self._wanted) - self.stored()).keys()


def stored(
    topics: Iterable[tuple[str, Cluster, str]],
    wanted: Wanted = lambda record: True,
    committed_only: bool = False,
) -> Counter[Seen]:
    """The multiset of records in the brokers."""
    found: Counter[Seen] = Counter()
    for cluster_id, cluster, topic in topics:
        for record in cluster.dump(topic, committed_only):
            seen = Seen(cluster_id, topic, record.partition, record.offset, str(record.value))
            if wanted(seen):
                found[seen] += 1
    return found


def compare(
    expected: Mapping[Seen, int],
    sink: SinkFolder,
    aborted: Collection[Seen] = (),
    before: Mapping[Seen, int] | None = None,
    lost: Collection[Seen] = (),
) -> None:
    """Raise an AssertionError that lists the anomalies, and replays whose rows changed."""
    reports = classify(expected, sink.records(), _line_of, aborted, before)
    _refuse({**reports, "changed replays": sink.changed_replays(lost)})


def assert_none_repeated(sink: SinkFolder) -> None:
    """Raise an AssertionError if a query has delivered a record in several rows, whatever it had to read."""
    found = sink.records()
    _refuse(classify(dict.fromkeys(found, 1), found, _line_of, complete=False))


def _refuse(reports: Mapping[str, Sequence[object]]) -> None:
    found = texts(reports)
    assert not found, "; ".join(found)


def _line_of(row: Seen) -> tuple[Hashable, int]:
    return (row.cluster, row.topic, row.partition), row.offset


def _without(lost: Collection[Seen], rows: Iterable[Seen]) -> tuple[Seen, ...]:
    return tuple(row for row in rows if row not in lost)


def _rows(path: Path) -> list[Seen]:
    return [Seen(*row[:5]) for row in json.loads(path.read_text())]
