"""Whether a query continues at the same offsets in a Kafka cluster that replaces another one.

The connector's ``SameOffsets`` decides the same; ``tests/conformance/replacement`` has its decisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.last_records import LastRecord, Partition

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
        read: The last records that were read below these positions, as far as their times are known.
        last_batch_ms: The time of the last batch of the query; 0 if it is not known.
        topics: The topics that are read in the new cluster.
        ends: End offsets of the new cluster.
        earliest: Its earliest offsets.
    """

    former: str
    positions: Positions
    read: Mapping[Partition, LastRecord]
    last_batch_ms: int
    topics: frozenset[str]
    ends: Positions
    earliest: Positions

    @property
    def continuing(self) -> list[str]:
        """The topics whose positions are known and that the new cluster has."""
        return sorted(self.topics.intersection(self.positions, self.ends))


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
            record = at - 1 if known is None else known.offset
            if record >= 0:
                found[topic, p] = Question(record, at)
    return found


def same_offsets(of: Replacement, answers: Mapping[Partition, Answer]) -> Positions:
    """Returns the positions with ``same-offsets``.

    Raises:
        NotContinuedError: if the new cluster has other records there.
    """
    for (topic, p), answer in sorted(answers.items()):
        why = _other_record(of.read.get((topic, p)), of.last_batch_ms, answer)
        if why is not None:
            raise NotContinuedError(f"topic '{topic}', partition {p}: {why}")
    return {topic: of.positions[topic] for topic in of.continuing}


def _other_record(last: LastRecord | None, batch_ms: int, answer: Answer) -> str | None:
    found, following = answer.record, answer.next
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
    if last is None and found is not None and 0 < batch_ms < found.time_ms - _CLOCK_DIFFERENCE_MS:
        return (
            f"the record at offset {found.offset} has the time {found.time_ms}, which is later than the last "
            f"batch of the query, {batch_ms}"
        )
    return None
