"""Where a query continues in a Kafka cluster that replaces another one.

The connector's ``ByTime``, ``GroupOffsets`` and ``SameOffsets`` decide the same; ``tests/conformance/replacement``
has their decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.last_records import LastRecord, Partition, ReadUpTo

# Producers and the driver have clocks of their own.
_CLOCK_DIFFERENCE_MS = 60_000


class NotContinuedError(Exception):
    """The reason why the query does not continue with a cluster."""


@dataclass(frozen=True)
class Replacement:
    """A Kafka cluster that replaces another one.

    Attributes:
        former: The id of the cluster that is replaced.
        positions: The next offsets to read in the former cluster.
        read: What is known of the records below these positions.
        topics: The topics that are read in the new cluster.
        ends: End offsets of the new cluster.
        earliest: Its earliest offsets.
    """

    former: str
    positions: Positions
    read: Mapping[Partition, ReadUpTo]
    topics: frozenset[str]
    ends: Positions
    earliest: Positions

    @property
    def continuing(self) -> list[str]:
        """The topics whose positions are known and that the new cluster has."""
        return sorted(self.topics.intersection(self.positions, self.ends))


def times(of: Replacement, overlap_ms: int) -> dict[Partition, int]:
    """Returns times such that no record that follows the last one that was read is expected to be older."""
    found: dict[Partition, int] = {}
    for topic in of.continuing:
        known = {p: of.read[topic, p].time_ms for p in of.positions[topic] if (topic, p) in of.read}
        partitions = of.ends[topic]
        if known.keys() != partitions.keys():
            # The record of a key may be in another partition.
            known = dict.fromkeys(partitions, min(known.values())) if known else {}
        found |= {(topic, p): max(0, time - overlap_ms) for p, time in known.items()}
    return found


def by_time(of: Replacement, asked: Iterable[Partition], found: Mapping[Partition, int]) -> Positions:
    """Returns the positions with ``timestamp``.

    Args:
        of: The replacement.
        asked: The partitions of :func:`times`.
        found: The first offsets of records that are not older, as far as there are such records.
    """
    positions: Positions = {}
    for topic, p in asked:
        positions.setdefault(topic, {})[p] = found.get((topic, p), of.ends.get(topic, {}).get(p, 0))
    return positions


def by_group(of: Replacement, timed: Positions, committed: Mapping[Partition, int]) -> Positions:
    """Returns the positions with ``group-offsets``.

    Args:
        of: The replacement.
        timed: The positions with ``timestamp``.
        committed: The offsets of the group on the new cluster.
    """
    return {
        topic: {
            p: max(of.earliest.get(topic, {}).get(p, 0), min(committed[topic, p], at))
            if (topic, p) in committed
            else at
            for p, at in below.items()
        }
        for topic, below in timed.items()
    }


@dataclass(frozen=True)
class Question:
    """What is read of a partition of the new cluster.

    Attributes:
        record: The offset of the last record that was read.
        position: The next offset to read.
    """

    record: int
    position: int


@dataclass(frozen=True)
class Answer:
    """The record at the first offset of the question; if it is gone, the first one from the position on."""

    record: LastRecord | None = None
    next: LastRecord | None = None


def questions(of: Replacement) -> dict[Partition, Question]:
    """Returns what has to be read for ``same-offsets``.

    Raises:
        NotContinuedError: if the positions are not in the log of the new cluster.
    """
    found = {}
    for topic in of.continuing:
        for p, at in sorted(of.positions[topic].items()):
            first, end = of.earliest.get(topic, {}).get(p), of.ends[topic].get(p)
            where = f"topic '{topic}', partition {p}: the next offset to read is {at}"
            if end is None:
                raise NotContinuedError(f"topic '{topic}' has no partition {p}")
            if first is not None and at < first:
                raise NotContinuedError(f"{where}, but the earliest available offset is {first}")
            if at > end:
                raise NotContinuedError(f"{where}, but the latest offset is {end}")
            known = of.read.get((topic, p))
            record = at - 1 if known is None or known.last is None else known.last.offset
            if record >= 0:
                found[topic, p] = Question(record, at)
    return found


def same_offsets(of: Replacement, answers: Mapping[Partition, Answer]) -> Positions:
    """Returns the positions with ``same-offsets``.

    Raises:
        NotContinuedError: if the new cluster has other records there.
    """
    for (topic, p), answer in sorted(answers.items()):
        known = of.read.get((topic, p))
        why = None if known is None else _other_record(known, answer)
        if why is not None:
            raise NotContinuedError(f"topic '{topic}', partition {p}: {why}")
    return {topic: of.positions[topic] for topic in of.continuing}


def _other_record(known: ReadUpTo, answer: Answer) -> str | None:
    last, found, following = known.last, answer.record, answer.next
    if last is not None and found is not None and found.time_ms != last.time_ms:
        return (
            f"the record at offset {found.offset} has the time {found.time_ms}, but the one that was read there "
            f"had the time {last.time_ms}"
        )
    if last is not None and found is None and following is not None and following.time_ms < last.time_ms:
        return (
            f"the record at offset {last.offset}, which was read last, is gone, and the one at offset "
            f"{following.offset} is older than it was: its time is {following.time_ms} instead of {last.time_ms} "
            "or later"
        )
    if last is None and found is not None and 0 < known.batch_ms < found.time_ms - _CLOCK_DIFFERENCE_MS:
        return (
            f"the record at offset {found.offset} has the time {found.time_ms}, which is later than the batch "
            f"that has read it, {known.batch_ms}"
        )
    return None
