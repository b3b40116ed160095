"""Compares the order of the records of each key in the output with their order in the source.

Every value is unique, and the source has all records of a key in one partition: their order in the query is that of
the offsets. In the output each key has this order on every cluster. Between clusters Kafka defines none: a key is on
another cluster after a change of the clusters that are written to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from .anomalies import Reports
from .output_checker import OutputRecord

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


class SourceRecord(NamedTuple):
    """A record that the query has to write."""

    cluster: str
    topic: str
    partition: int
    offset: int
    key: str
    value: str


def source_records(topics: Iterable[tuple[str, Cluster, str]]) -> list[SourceRecord]:
    """All records of these topics, as (cluster id, its broker, topic)."""
    return [
        SourceRecord(id, topic, record.partition, record.offset, str(record.key), str(record.value))
        for id, cluster, topic in topics
        for record in cluster.dump(topic)
    ]


@dataclass(frozen=True)
class KeyOrder:
    """The result of a comparison.

    Args:
        reports: The anomalies, by name.
        keys: How many keys have records in the output.
        sequences: How many sequences were compared: of a key in a partition of a cluster.
        moves: How often a key continued on another cluster.
    """

    reports: Reports
    keys: int
    sequences: int
    moves: int


def compare_order(source: Iterable[SourceRecord], found: Iterable[OutputRecord], changes: int) -> KeyOrder:
    """Compare the order of each key. Values that the source does not have are left to the comparison of the records.

    Args:
        source: All records that were to be written.
        found: The records in the output that readers see.
        changes: How often the set of clusters that are written to has changed: no key moves more often.
    """
    read = {record.value: record for record in source}
    places: dict[str, set[tuple[str, str, int]]] = defaultdict(set)
    for record in read.values():
        places[record.key].add((record.cluster, record.topic, record.partition))
    unordered = sorted(key for key, of_key in places.items() if len(of_key) > 1)
    assert not unordered, f"the source has no order for these keys: {unordered[:5]}"

    written = [record for record in found if record.value in read]
    sequences: dict[tuple[str, str, int], list[OutputRecord]] = defaultdict(list)
    for out in sorted(written, key=lambda r: (r.cluster, r.partition, r.offset)):
        sequences[out.key, out.cluster, out.partition].append(out)
    partitions: dict[tuple[str, str], set[int]] = defaultdict(set)
    for key, cluster, partition in sequences:
        partitions[key, cluster].add(partition)
    moves = _moves(read, written)
    return KeyOrder(
        {
            "out of order": [record for records in sequences.values() for record in _overtaken(read, records)],
            "under another key": [record for record in written if record.key != read[record.value].key],
            "keys in more than one partition": [
                (place, sorted(of_key)) for place, of_key in sorted(partitions.items()) if len(of_key) > 1
            ],
            "keys that moved without a cause": [(key, n) for key, n in sorted(moves.items()) if n > changes],
        },
        keys=len(moves),
        sequences=len(sequences),
        moves=sum(moves.values()),
    )


def _overtaken(read: dict[str, SourceRecord], records: list[OutputRecord]) -> list[OutputRecord]:
    """The records that come after a later one of the source."""
    last, overtaken = -1, []
    for record in records:
        place = read[record.value].offset
        if place < last:
            overtaken.append(record)
        last = max(place, last)
    return overtaken


def _moves(read: dict[str, SourceRecord], written: list[OutputRecord]) -> dict[str, int]:
    """How often the records of each key, in the order of the source, continue on another cluster."""
    clusters: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for record in written:
        clusters[record.key].append((read[record.value].offset, record.cluster))
    return {
        key: sum(earlier[1] != later[1] for earlier, later in pairwise(sorted(places)))
        for key, places in clusters.items()
    }
