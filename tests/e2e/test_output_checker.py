"""The comparison that the tests of the exactly-once sink rely on detects each kind of fault."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.harness.output_checker import OutputRecord, faults, withdrawn

RECORDS = [OutputRecord("green", 0, offset, "k1", f"K1-{offset:05d}") for offset in range(4)]
RECORDS += [OutputRecord("old", 1, offset, "k2", f"K2-{offset:05d}") for offset in range(3)]
EXPECTED = Counter(record.value for record in RECORDS)
FIRST, SECOND = RECORDS[:2]


def test_all_payloads_once_and_in_order_is_correct() -> None:
    holes = [record._replace(offset=record.offset * 3 + 1) for record in RECORDS]
    assert faults(EXPECTED, reversed(holes)) == []


def test_unwritten_records_are_no_fault_but_repeated_ones_are() -> None:
    assert faults(EXPECTED, RECORDS[1:], complete=False) == []
    again = [*RECORDS[1:], RECORDS[3]._replace(offset=9)]
    assert faults(EXPECTED, again, complete=False) == ["1 duplicate: ['K1-00003']"]


@pytest.mark.parametrize(
    ("found", "fault"),
    [
        (RECORDS[1:], "1 lost: ['K1-00000']"),
        (RECORDS[:-1], "1 unseen: ['K2-00002']"),
        ([record for record in RECORDS if record.key == "k1"], "3 unseen: ['K2-00000', "),
        ([*RECORDS, RECORDS[3]._replace(offset=9)], "1 duplicate: ['K1-00003']"),
        ([*RECORDS, RECORDS[3]._replace(offset=9, value="K1-00009")], "1 unexpected: ['K1-00009']"),
        ([FIRST._replace(offset=1), SECOND._replace(offset=0), *RECORDS[2:]], "1 out of order: "),
        ([FIRST._replace(cluster="old"), *RECORDS[1:]], "1 keys in more than one place: [('k1', "),
        ([FIRST._replace(partition=1), *RECORDS[1:]], "1 keys in more than one place: [('k1', "),
        ([FIRST._replace(key="k7"), *RECORDS[1:]], "1 under another key: "),
    ],
)
def test_a_fault_is_reported(found: list[OutputRecord], fault: str) -> None:
    [reported] = faults(EXPECTED, found)
    assert reported.startswith(fault)


def test_a_payload_of_another_form_is_unexpected() -> None:
    twice = RECORDS[3]._replace(value="K1-00003 times 2")
    other = twice._replace(offset=9, value="other", key="")
    found = faults(EXPECTED, [*RECORDS[:3], twice, *RECORDS[4:], other])
    assert found == ["1 lost: ['K1-00003']", "2 unexpected: ['K1-00003 times 2', 'other']"]


def test_a_payload_of_an_aborted_transaction_is_an_aborted_read() -> None:
    ghost = RECORDS[3]._replace(offset=9, value="K1-00009")
    assert faults(EXPECTED, [*RECORDS, ghost], aborted={"K1-00009"}) == ["1 aborted read: ['K1-00009']"]
    # A later attempt has committed the same payload, and an aborted one is visible as well.
    again = ghost._replace(value="K1-00003")
    assert faults(EXPECTED, [*RECORDS, again], aborted={"K1-00003"}) == ["1 duplicate: ['K1-00003']"]


def test_a_record_that_disappears_is_withdrawn() -> None:
    assert withdrawn(set(RECORDS[:2]), RECORDS) == []
    assert withdrawn(set(RECORDS), RECORDS[1:]) == [FIRST]
    # Also if another record has replaced it.
    assert withdrawn({FIRST}, [FIRST._replace(value="K1-00007")]) == [FIRST]
