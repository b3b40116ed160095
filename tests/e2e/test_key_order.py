"""The comparison of the order of keys, which the soak test of the sink relies on, detects each kind of fault."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.anomalies import texts
from tests.harness.key_order import SourceRecord, compare_order
from tests.harness.output_checker import OutputRecord

# Two keys in one partition of a topic, and one on another cluster with the same topic.
SOURCE = [SourceRecord("blue", "t", 0, n, f"b{n % 2}", f"blue-{n}") for n in range(8)]
SOURCE += [SourceRecord("green", "t", 0, n, "g0", f"green-{n}") for n in range(4)]
# b0 moves from red to green after its second record, and back to red for the last one.
WRITTEN = [
    OutputRecord("red", 0, 3, "b0", "blue-0"),
    OutputRecord("red", 0, 4, "b0", "blue-2"),
    OutputRecord("green", 1, 7, "b0", "blue-4"),
    OutputRecord("red", 0, 9, "b0", "blue-6"),
    *(OutputRecord("red", 1, 2 * n, "b1", f"blue-{n}") for n in (1, 3, 5, 7)),
    *(OutputRecord("green", 1, n, "g0", f"green-{n}") for n in range(4)),
]
CHANGES = 2


def _faults(found: list[OutputRecord], changes: int = CHANGES) -> list[str]:
    return texts(compare_order(SOURCE, found, changes).reports)


def _with(value: str, **changed: Any) -> list[OutputRecord]:
    return [record._replace(**changed) if record.value == value else record for record in WRITTEN]


def test_each_key_in_order_on_each_cluster_is_correct() -> None:
    found = compare_order(SOURCE, reversed(WRITTEN), CHANGES)
    assert texts(found.reports) == []
    assert (found.keys, found.sequences, found.moves) == (3, 4, 2)
    # What is missing, or is no record of the source, is left to the comparison of the records.
    assert _faults([*WRITTEN[1:], OutputRecord("red", 0, 1, "b0", "other")]) == []


def test_records_of_a_key_that_change_places_are_out_of_order() -> None:
    swapped = [
        record._replace(offset={3: 4, 4: 3}[record.offset]) if record in WRITTEN[:2] else record
        for record in WRITTEN
    ]
    assert _faults(swapped) == [f"1 out of order: {[swapped[0]]}"]


def test_an_old_record_that_is_written_again_late_is_out_of_order() -> None:
    late = OutputRecord("red", 0, 12, "b0", "blue-0")
    assert _faults([*WRITTEN, late])[0] == f"1 out of order: {[late]}"
    # Whatever follows it.
    all_late = [*WRITTEN, late, late._replace(offset=13, value="blue-2"), late._replace(offset=14, value="blue-6")]
    assert _faults(all_late)[0].startswith("2 out of order: ")


@pytest.mark.parametrize(
    ("found", "changes", "fault"),
    [
        (_with("blue-3", key="b0"), 9, "1 under another key: "),
        (_with("blue-3", partition=0), CHANGES, "1 keys in more than one partition: [(('b1', 'red'), [0, 1])]"),
        (WRITTEN, 1, "1 keys that moved without a cause: [('b0', 2)]"),
    ],
)
def test_a_fault_is_reported(found: list[OutputRecord], changes: int, fault: str) -> None:
    assert any(text.startswith(fault) for text in _faults(found, changes))


def test_a_key_in_two_partitions_of_the_source_has_no_order() -> None:
    with pytest.raises(AssertionError, match="the source has no order"):
        compare_order([*SOURCE, SourceRecord("blue", "t", 1, 0, "b0", "blue-9")], WRITTEN, CHANGES)
