"""Compares the expected output of a query that writes with the records that `read_committed` readers see.

Payloads are `<key>-<number>`. The numbers of a key increase, and every payload is unique.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from .anomalies import Reports, classify, texts

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


# Whatever follows them, such as the ` times 2` of a payload that was counted twice.
_DIGITS = re.compile(r"\d+")


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
        return line_of(self.value)[1]


def visible(clusters: Mapping[str, Cluster], topic: str) -> list[OutputRecord]:
    """Return the records of a topic on these clusters that readers with `read_committed` see."""
    return [
        OutputRecord(name, record.partition, record.offset, str(record.key), str(record.value))
        for name, cluster in clusters.items()
        for record in cluster.dump(topic, committed_only=True)
    ]


def faults(
    expected: Mapping[str, int],
    found: Iterable[OutputRecord],
    complete: bool = True,
    aborted: Collection[str] = (),
) -> list[str]:
    """Return the differences from the expected multiset of payloads, and records out of order.

    Args:
        expected: How often each payload is expected.
        found: The records that were found.
        complete: Whether all expected records must have been found; otherwise none is lost or unseen.
        aborted: Payloads that only transactions without a commit contain.
    """
    records = list(found)
    reports: Reports = {
        **classify(expected, Counter(r.value for r in records), line_of, aborted, complete=complete),
        "under another key": [r for r in records if line_of(r.value)[0] != r.key.upper()],
        "keys in more than one place": _scattered(records),
        "out of order": _disordered(records),
    }
    return texts(reports)


def withdrawn(seen: Iterable[OutputRecord], now: Iterable[OutputRecord]) -> list[OutputRecord]:
    """Return the records that have disappeared."""
    return sorted(set(seen) - set(now))


def line_of(payload: str) -> tuple[str, int]:
    """The key of a payload, and its number among those of the key; a payload of another form has no number."""
    key, _, number = payload.rpartition("-")
    digits = _DIGITS.match(number)
    return key.upper(), int(digits[0]) if digits else -1


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
