"""Compares the expected output of a query that writes with the records that `read_committed` readers see.

Payloads are `<key>-<number>`. The numbers of a key increase, and every payload is unique.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


class OutputRecord(NamedTuple):
    """A record in an output topic that is visible to readers."""

    cluster: str
    partition: int
    offset: int
    key: str
    value: str

    @property
    def number(self) -> int:
        """The number in the payload."""
        return int(self.value.rsplit("-", 1)[1])


def visible(clusters: Mapping[str, Cluster], topic: str) -> list[OutputRecord]:
    """Return the records of a topic on these clusters that readers with `read_committed` see."""
    return [
        OutputRecord(name, record.partition, record.offset, str(record.key), str(record.value))
        for name, cluster in clusters.items()
        for record in cluster.dump(topic, committed_only=True)
    ]


def faults(expected: Mapping[str, int], found: Iterable[OutputRecord], complete: bool = True) -> list[str]:
    """Return the differences from the expected multiset of payloads, and records out of order.

    Args:
        expected: How often each payload is expected.
        found: The records that were found.
        complete: Whether all expected records must have been found; otherwise none of them counts as lost.
    """
    records = list(found)
    values = Counter(record.value for record in records)
    wanted = Counter(expected)
    surplus = values - wanted
    reports: dict[str, Sequence[object]] = {
        "lost": sorted((wanted - values).elements()) if complete else [],
        "repeated": sorted(value for value in surplus.elements() if value in wanted),
        "not to be written": sorted(value for value in surplus.elements() if value not in wanted),
        "under another key": [r for r in records if r.value.rsplit("-", 1)[0].upper() != r.key.upper()],
        "keys in more than one place": _scattered(records),
        "out of order": _disordered(records),
    }
    return [f"{len(rows)} {what}: {rows[:5]}" for what, rows in reports.items() if rows]


def _scattered(records: Iterable[OutputRecord]) -> list[object]:
    places: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for record in records:
        places[record.key].add((record.cluster, record.partition))
    return [(key, sorted(found)) for key, found in sorted(places.items()) if len(found) > 1]


def _disordered(records: Iterable[OutputRecord]) -> list[OutputRecord]:
    last: dict[tuple[str, str, int], int] = {}
    found = []
    for record in sorted(records, key=lambda r: (r.cluster, r.partition, r.offset)):
        place = (record.key, record.cluster, record.partition)
        if record.number < last.get(place, -1):
            found.append(record)
        last[place] = record.number
    return found
