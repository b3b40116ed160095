"""What a writing query has to have written, and the comparison with what readers with `read_committed` find.

Payloads are `<key>-<number>`: the numbers of a key grow, and no payload is there twice.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


class Written(NamedTuple):
    """A record that can be seen."""

    cluster: str
    partition: int
    offset: int
    key: str
    value: str

    @property
    def number(self) -> int:
        """Of its payload."""
        return int(self.value.rsplit("-", 1)[1])


def visible(clusters: Mapping[str, Cluster], topic: str) -> list[Written]:
    """What readers with `read_committed` find in a topic on all these clusters."""
    return [
        Written(name, record.partition, record.offset, str(record.key), str(record.value))
        for name, cluster in clusters.items()
        for record in cluster.dump(topic, committed_only=True)
    ]


def faults(expected: Mapping[str, int], found: Iterable[Written], complete: bool = True) -> list[str]:
    """Tell what differs from this multiset of payloads, and what of it is not in order. Empty: all is well.

    Args:
        expected: How often each payload has to be there.
        found: What is there.
        complete: Whether all has to be there already.
    """
    records = list(found)
    values = Counter(record.value for record in records)
    wanted = Counter(expected)
    surplus = values - wanted
    told: dict[str, Sequence[object]] = {
        "lost": sorted((wanted - values).elements()) if complete else [],
        "repeated": sorted(value for value in surplus.elements() if value in wanted),
        "not to be written": sorted(value for value in surplus.elements() if value not in wanted),
        "under another key": [r for r in records if r.value.rsplit("-", 1)[0].upper() != r.key.upper()],
        "keys in more than one place": _scattered(records),
        "out of order": _disordered(records),
    }
    return [f"{len(rows)} {what}: {rows[:5]}" for what, rows in told.items() if rows]


def _scattered(records: Iterable[Written]) -> list[object]:
    places: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for record in records:
        places[record.key].add((record.cluster, record.partition))
    return [(key, sorted(found)) for key, found in sorted(places.items()) if len(found) > 1]


def _disordered(records: Iterable[Written]) -> list[Written]:
    last: dict[tuple[str, str, int], int] = {}
    found = []
    for record in sorted(records, key=lambda r: (r.cluster, r.partition, r.offset)):
        place = (record.key, record.cluster, record.partition)
        if record.number < last.get(place, -1):
            found.append(record)
        last[place] = record.number
    return found
