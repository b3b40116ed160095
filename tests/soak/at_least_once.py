"""Compares what a query had to write with what it has written, if it may repeat the records of unfinished batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.harness.anomalies import classify, texts
from tests.harness.checker import Seen
from tests.harness.output_checker import line_of

from .losses import positions_with_retained


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison.

    Args:
        found: How often each value was written; what may have been repeated counts as one.
        repeated: The number of records that were written again, as they may be.
        anomalies: One line for each kind.
    """

    found: Counter[str]
    repeated: int
    anomalies: list[str]


def compare(
    produced: Iterable[Seen],
    written: Mapping[str, int],
    starts: Sequence[Mapping[str, Any]],
    before: Mapping[str, int] | None = None,
) -> Comparison:
    """Compare by values, which are unique.

    Args:
        produced: The records that had to be written.
        written: How often each value was written.
        starts: The offset of the last batch that was finished before each run of the query, the first run among them.
        before: What was found at an earlier look.
    """
    records = list(produced)
    later = [positions_with_retained(start) for start in starts[1:]]
    # A run repeats what the batches that were finished before it do not have.
    repeats = {
        record.value: sum(
            record.offset >= start.get((record.cluster, record.topic, record.partition), 0) for start in later
        )
        for record in records
    }
    found = Counter({value: max(1, count - repeats.get(value, 0)) for value, count in written.items()})
    anomalies = texts(classify(Counter(record.value for record in records), found, line_of, before=before))
    return Comparison(found, sum(written.values()) - found.total(), anomalies)
