"""The comparison that all end-to-end tests rely on detects each kind of fault."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
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
    ("batches", "names"),
    [
        ({0: [RECORDS[0], *RECORDS[2:]]}, ["1 lost: "]),
        ({0: RECORDS[:3]}, ["1 unseen: "]),
        ({0: [RECORDS[0], RECORDS[2]]}, ["1 lost: ", "1 unseen: "]),
        ({0: RECORDS, 1: RECORDS[:2]}, ["2 duplicate: "]),
        ({0: [RECORDS[0]] * 3 + RECORDS[1:]}, ["2 duplicate: "]),
        ({0: [*RECORDS, Seen("blue", "t", 0, 9, "v9")]}, ["1 unexpected: "]),
        ({0: [*RECORDS[:3], RECORDS[3]._replace(value="other")]}, ["1 lost: ", "1 unexpected: "]),
        ({0: [*RECORDS[:3], RECORDS[3]._replace(cluster="green")]}, ["1 unseen: ", "1 unexpected: "]),
    ],
)
def test_an_anomaly_is_reported_by_its_name_and_no_other_one(
    tmp_path: Path, batches: dict[int, list[Seen]], names: list[str]
) -> None:
    with pytest.raises(AssertionError) as refused:
        compare(Counter(RECORDS), _sink(tmp_path, batches))
    found = str(refused.value).split("; ")
    assert [report[: report.index("[")] for report in found] == names


def test_a_replay_that_differs_is_reported(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS}, {"0.0": RECORDS[:3], "0.1": RECORDS})
    with pytest.raises(AssertionError, match="1 changed replays"):
        compare(Counter(RECORDS), sink)


def test_a_replay_may_lack_what_kafka_deleted_in_between_and_nothing_else(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS[1:]}, {"0.0": RECORDS, "0.1": RECORDS[1:]})
    compare(Counter(RECORDS[1:]), sink, lost={RECORDS[0]})
    with pytest.raises(AssertionError, match="1 changed replays"):
        compare(Counter(RECORDS[1:]), sink, lost={RECORDS[1]})


class _Broker:
    """A broker that contains `RECORDS`, the last one in a transaction that was aborted."""

    def dump(self, topic: str, committed_only: bool = False) -> list[StoredRecord]:
        from dynamic_kafka_testkit import StoredRecord

        there = RECORDS[:-1] if committed_only else RECORDS
        return [StoredRecord(row.partition, row.offset, None, row.value, {}, 0) for row in there]


TOPICS = [("blue", cast("Cluster", _Broker()), "t")]


def _rewrite(folder: Path, batch: int, rows: list[Seen]) -> None:
    path = folder / "sink" / f"{batch}.json"
    # Clocks of file systems are coarse, and rows are read again only if the time has changed.
    at = path.stat().st_mtime_ns + 1 if path.exists() else 1
    path.write_text(json.dumps([[*row, "orders"] for row in rows]))
    os.utime(path, ns=(at, at))


def test_a_record_that_is_delivered_again_while_the_query_becomes_idle_is_found(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS})
    checker = Checker(sink, TOPICS)
    checker.await_exact(lambda: None)
    assert_none_repeated(sink)
    with pytest.raises(AssertionError, match="1 duplicate"):
        checker.await_exact(lambda: _rewrite(tmp_path, 1, RECORDS[:1]))
    with pytest.raises(AssertionError, match="1 duplicate"):
        assert_none_repeated(sink)


@pytest.mark.parametrize("look", [Checker.look_at_end, Checker.look_late])
def test_what_happens_after_the_comparison_is_found_at_the_very_end(
    tmp_path: Path, look: Callable[[Checker], None]
) -> None:
    sink = _sink(tmp_path, {0: RECORDS[:2], 1: RECORDS[2:]})
    checker = Checker(sink, TOPICS)
    checker.await_exact(lambda: None)
    look(checker)
    _rewrite(tmp_path, 2, RECORDS[:1])
    with pytest.raises(AssertionError, match=r"^1 duplicate: [^;]*$"):
        look(checker)
    _rewrite(tmp_path, 2, [])
    _rewrite(tmp_path, 1, RECORDS[3:])
    with pytest.raises(AssertionError, match=r"^1 withdrawn: [^;]*'v2'[^;]*$"):
        look(checker)


def test_only_the_last_look_expects_everything(tmp_path: Path) -> None:
    sink = _sink(tmp_path, {0: RECORDS[:2]})
    checker = Checker(sink, TOPICS)
    checker.look_late()
    with pytest.raises(AssertionError, match=r"^2 unseen"):
        checker.look_at_end()


def test_a_record_that_is_withdrawn_while_the_query_becomes_idle_is_found(tmp_path: Path) -> None:
    checker = Checker(_sink(tmp_path, {0: RECORDS[:2], 1: RECORDS[2:]}), TOPICS)
    with pytest.raises(AssertionError, match=r"^1 withdrawn: [^;]*'v3'[^;]*$"):
        checker.await_exact(lambda: _rewrite(tmp_path, 1, RECORDS[2:3]))


def test_a_record_of_an_aborted_transaction_is_an_aborted_read(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"^1 aborted read: [^;]*'v3'[^;]*$"):
        Checker(_sink(tmp_path, {0: RECORDS}), TOPICS, committed_only=True).await_exact(lambda: None)


def test_records_of_committed_transactions_are_exact(tmp_path: Path) -> None:
    Checker(_sink(tmp_path, {0: RECORDS[:3]}), TOPICS, committed_only=True).await_exact(lambda: None)


def test_records_that_were_read_before_kafka_deleted_them_stay_expected(tmp_path: Path) -> None:
    # A broker that is killed can have a deleted record again.
    gone = Counter([Seen("blue", "t", 0, 3, "of the former topic"), RECORDS[1]])
    Checker(_sink(tmp_path, {0: [*RECORDS, *set(gone) - set(RECORDS)]}), TOPICS, gone=gone).await_exact(
        lambda: None
    )
    shutil.rmtree(tmp_path / "sink")
    shutil.rmtree(tmp_path / "attempts")
    with pytest.raises(AssertionError, match=r"^1 lost: .*of the former topic"):
        Checker(_sink(tmp_path, {0: RECORDS}), TOPICS, gone=gone).await_exact(lambda: None, deadline_s=0)


def test_declared_losses_that_are_delivered_nevertheless_are_unexpected(tmp_path: Path) -> None:
    lost = Seen("blue", "t", 0, 3, "of the former topic")
    with pytest.raises(AssertionError, match=r"^1 unexpected: .*of the former topic"):
        Checker(_sink(tmp_path, {0: [*RECORDS, lost]}), TOPICS).await_exact(lambda: None)
