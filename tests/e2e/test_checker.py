"""The comparison that all end-to-end tests rely on detects each kind of fault."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tests.harness.checker import Checker, Seen, SinkFolder, assert_none_repeated, compare

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, StoredRecord

RECORDS = [Seen("blue", "t", 0, offset, f"v{offset}") for offset in range(4)]


def _sink(folder: Path, batches: dict[int, list[Seen]], tries: dict[str, list[Seen]] | None = None) -> SinkFolder:
    for name in ("sink", "attempts"):
        (folder / name).mkdir()
    for batch, rows in batches.items():
        (folder / "sink" / f"{batch}.json").write_text(json.dumps([[*row, "orders"] for row in rows]))
    for name, rows in (tries or {}).items():
        (folder / "attempts" / f"{name}.json").write_text(json.dumps([[*row, "orders"] for row in rows]))
    return SinkFolder(folder)


def test_all_records_once_is_exact(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS[:2], 1: RECORDS[2:]}, {"0.0": RECORDS[:2], "0.1": RECORDS[:2]})
    compare(Counter(RECORDS), sink)
    assert sink.replayed() == [0]
    assert sink.count("blue") == 4


@pytest.mark.parametrize(
    ("batches", "fault"),
    [
        ({0: RECORDS[:3]}, "1 lost"),
        ({0: RECORDS, 1: RECORDS[:2]}, "2 repeated"),
        ({0: [*RECORDS, Seen("blue", "t", 0, 9, "v9")]}, "1 not to be read"),
        ({0: [*RECORDS[:3], RECORDS[3]._replace(value="other")]}, "1 lost"),
        ({0: [*RECORDS[:3], RECORDS[3]._replace(cluster="green")]}, "1 lost"),
    ],
)
def test_a_fault_is_reported(tmp_path: Path, batches: dict[int, list[Seen]], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        compare(Counter(RECORDS), _sink(tmp_path, batches))


def test_a_replay_that_differs_is_reported(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS}, {"0.0": RECORDS[:3], "0.1": RECORDS})
    with pytest.raises(AssertionError, match="1 changed replays"):
        compare(Counter(RECORDS), sink)


class _Broker:
    """A broker that contains `RECORDS`."""

    def dump(self, topic: str) -> list[StoredRecord]:
        from dynamic_kafka_testkit import StoredRecord

        return [StoredRecord(row.partition, row.offset, None, row.value, {}, 0) for row in RECORDS]


def test_a_record_that_is_delivered_again_late_is_found(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS})
    checker = Checker(sink, [("blue", cast("Cluster", _Broker()), "t")])
    checker.await_exact(lambda: None)
    assert_none_repeated(sink)

    def again() -> None:
        (tmp_path / "sink" / "1.json").write_text(json.dumps([[*RECORDS[0], "orders"]]))

    with pytest.raises(AssertionError, match="1 repeated"):
        checker.await_exact(again)
    with pytest.raises(AssertionError, match="1 repeated"):
        assert_none_repeated(sink)
