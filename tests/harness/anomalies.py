"""Anomalies by the names that Jepsen's analyses of Kafka and Redpanda use, for queries that read and that write.

| anomaly | what it means here |
|---|---|
| lost | a record is missing although a later record of its partition, or of its key, has been delivered |
| unseen | a record is missing, and so is everything after it: nothing of it has been delivered so far |
| duplicate | a record has been delivered more often than it exists |
| aborted read | a record of a transaction that was aborted, or never committed, has been delivered |
| withdrawn | a record that had been delivered at an earlier look has disappeared |
| unexpected | a record has been delivered that does not exist, or that the query was not to read or write |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TypeVar

R = TypeVar("R", bound=Hashable)
# The most records of each anomaly in a report.
SHOWN = 5

Reports = dict[str, Sequence[object]]


def classify(
    expected: Mapping[R, int],
    found: Mapping[R, int],
    line_of: Callable[[R], tuple[Hashable, int]],
    aborted: Collection[R] = (),
    before: Mapping[R, int] | None = None,
    complete: bool = True,
) -> Reports:
    """Compare what was delivered with what had to be.

    Args:
        expected: How often each record has to be delivered.
        found: How often it was delivered.
        line_of: Whose records have an order, such as a partition, and the place of a record in it.
        aborted: Records that only transactions without a commit contain.
        before: What was found at an earlier look.
        complete: Whether everything has to be there; otherwise nothing counts as lost or unseen.
    """
    wanted, there = Counter(expected), Counter(found)
    missing, surplus = wanted - there, there - wanted
    last: dict[Hashable, int] = {}
    for record in there:
        line, place = line_of(record)
        last[line] = max(place, last.get(line, place))

    def overtaken(record: R) -> bool:
        line, place = line_of(record)
        return place <= last.get(line, place - 1)

    withdrawn = Counter(before or {}) - there
    # What has disappeared is withdrawn, and no second anomaly.
    absent = [record for record in (missing - withdrawn).elements() if complete]
    ghosts = set(aborted)
    reports: dict[str, list[R]] = {
        "lost": [record for record in absent if overtaken(record)],
        "unseen": [record for record in absent if not overtaken(record)],
        "duplicate": [record for record in surplus.elements() if record in wanted],
        "aborted read": [record for record in surplus if record not in wanted and record in ghosts],
        "withdrawn": list(withdrawn.elements()),
        "unexpected": [record for record in surplus.elements() if record not in wanted and record not in ghosts],
    }
    return {name: sorted(records, key=repr) for name, records in reports.items()}


def texts(reports: Mapping[str, Sequence[object]]) -> list[str]:
    """One line for each anomaly that was found, with its number and some of its records."""
    return [f"{len(rows)} {name}: {list(rows[:SHOWN])}" for name, rows in reports.items() if rows]
