"""The demo works, its verdict can fail, and none of its processes outlives it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from datetime import datetime, timezone
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from dynamic_kafka_testkit import Testkit

from tests.harness.waiting import until

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

from demo.query import found_nothing  # noqa: E402
from demo.verdict import Order, compare  # noqa: E402

ORDERS = [Order("blue", 0, 0, 0), Order("blue", 1, 0, 1), Order("green", 0, 0, 2)]


def test_verdict_passes_if_each_order_is_read_once() -> None:
    verdict = compare(ORDERS, reversed(ORDERS))
    assert verdict.passed
    assert str(verdict) == "produced 3, read 3, lost 0, duplicated 0"


def test_verdict_finds_a_missing_order() -> None:
    verdict = compare(ORDERS, ORDERS[:2])
    assert not verdict.passed
    assert verdict.lost == [ORDERS[2]]
    assert str(verdict) == "produced 3, read 2, lost 1, duplicated 0"


def test_verdict_finds_a_duplicated_order() -> None:
    verdict = compare(ORDERS, [*ORDERS, ORDERS[0], ORDERS[0]])
    assert not verdict.passed
    assert verdict.duplicated == [ORDERS[0], ORDERS[0]]
    assert str(verdict) == "produced 3, read 5, lost 0, duplicated 2"


@pytest.mark.parametrize(
    "changed",
    [Order("green", 1, 0, 1), Order("blue", 0, 0, 1), Order("blue", 1, 1, 1), Order("blue", 1, 0, 7)],
    ids=["cluster", "partition", "offset", "sequence"],
)
def test_verdict_compares_the_whole_order(changed: Order) -> None:
    verdict = compare(ORDERS, [ORDERS[0], changed, ORDERS[2]])
    assert not verdict.passed
    assert (verdict.lost, verdict.unknown) == ([ORDERS[1]], [changed])
    assert verdict.details(at_most=1) == [f"lost: {ORDERS[1]}"]


@pytest.mark.parametrize(
    ("rows", "pending", "ages", "expected"),
    [
        (0, "0", {"blue": "400", "green": "20"}, True),
        (0, "0", {"blue": "600", "green": "20"}, False),
        (0, "0", {"blue": "-1", "green": "20"}, False),
        (0, "0", {}, False),
        (0, "7", {"blue": "20"}, False),
        (7, "0", {"blue": "20"}, False),
    ],
    ids=["idle", "older offsets", "no response", "no cluster", "pending", "a batch"],
)
def test_a_query_is_idle_by_offsets_of_later_than_the_last_order(
    rows: int, pending: str, ages: dict[str, str], expected: bool
) -> None:
    metrics = {"pendingRecords": pending} | {f"snapshotAgeMs.{cluster}": age for cluster, age in ages.items()}
    progress = {"timestamp": "2026-11-22T20:00:00.500Z", "numInputRows": rows, "sources": [{"metrics": metrics}]}
    assert found_nothing(progress, since=datetime(2026, 11, 22, 20, tzinfo=timezone.utc)) is expected


def test_the_first_half_of_the_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The main job, with a driver that is killed; all of it has eight drivers and MirrorMaker."""
    script = spec_from_file_location("demo_script", ROOT / "examples" / "demo.py")
    assert script and script.loader
    program = module_from_spec(script)
    script.loader.exec_module(program)
    monkeypatch.setenv(program.UI_PORT, str(program.free_port()))
    demo = program.Demo(tmp_path, dwell_s=1)
    # The shared testkit already has clusters with the names of the demo.
    with Testkit() as testkit:
        blue, green = testkit.start_all("blue", "green")
        demo.clusters.update(blue=blue, green=green)
        try:
            with demo.screen:
                demo.story(blue, green)
        finally:
            demo.query.stop()
            demo.producer.stop()
    verdict = demo.verdict()
    assert verdict.passed, verdict.details(at_most=20)
    assert len(demo.producer.acknowledged) > 500


@pytest.mark.test_all
@pytest.mark.timeout(1900)
def test_demo_neither_loses_nor_duplicates_orders(tmp_path: Path) -> None:
    demo = _start(tmp_path)
    printed, _ = demo.communicate(timeout=1800)
    # The end first: it says why, and reports of failures are cut.
    output = f"{printed[-1500:]}\n--- all of it ---\n{printed}"
    assert demo.returncode == 0, output
    found = re.search(r"^verdict: produced (\d+), read (\d+), lost 0, duplicated 0$", output, re.MULTILINE)
    assert found, output
    assert found[1] == found[2]
    assert int(found[1]) > 1000
    relayed = re.search(
        r"^verdict: exactly once from clusters to clusters: produced (\d+), read (\d+), lost 0, duplicated 0$",
        output,
        re.MULTILINE,
    )
    assert relayed, output
    assert relayed[1] == relayed[2]
    assert int(relayed[1]) > int(found[1])
    assert re.search(
        r"^The page of the queries, while a driver runs: http://127\.0\.0\.1:\d+/$", output, re.MULTILINE
    ), output
    assert re.search(r"^verdict: SQL over the stream: as produced$", output, re.MULTILINE), output
    moved = re.search(
        r"^verdict: totals after a migration and a replacement: produced (\d+), read (\d+), lost 0, duplicated 0; "
        r"\d+ read again and counted once, amount [1-9]\d*$",
        output,
        re.MULTILINE,
    )
    assert moved, output
    assert moved[1] == moved[2]
    assert int(moved[1]) > 500
    offsets = re.search(r"the record at (\d+) would be at (\d+) there", output)
    # Not by the 500 that blue has deleted: MirrorMaker may copy a record again.
    assert offsets and offsets[1] != offsets[2], output
    # The amounts are a decoded column.
    assert re.search(r"blue active: produced \d+, read \d+, lag \d+, amount [1-9]", output), output
    # An order of one cluster may be shipped on the other one.
    assert "lag -" not in output and re.search(r"orders \d+, shipments \d+, .*not shipped yet: \d+", output), (
        output
    )
    assert all(text in output for text in ("blue retained", "green active", "killed with -9", "added again")), (
        output
    )


@pytest.mark.test_all
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_nothing_outlives_the_demo(tmp_path: Path, signal_number: signal.Signals) -> None:
    demo = _start(tmp_path)
    batches = tmp_path / "demo" / "batches"
    until("a batch", lambda: any(batches.glob("*.json")), 300)
    started = _descendants(demo.pid)
    assert sum("kafka.Kafka" in command for command in started.values()) == 2, started
    assert sum("demo.driver" in command for command in started.values()) == 1, started

    os.kill(demo.pid, signal_number)
    demo.communicate(timeout=180)
    until("the end of all processes", lambda: not _still_running(started), 180)


def _start(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, ROOT / "examples" / "demo.py", "--fast", "--folder", folder / "demo"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell without job control starts background processes with SIGINT ignored, which child processes inherit.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def _still_running(started: dict[int, str]) -> list[str]:
    # Compares the command as well, because another process may have the same id by now.
    return [command for pid, command in started.items() if command and _command(pid) == command]


def _descendants(ancestor: int) -> dict[int, str]:
    """The commands of all descendants, by process id."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [ancestor]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return {pid: _command(pid) for pid in found[1:]}


def _command(pid: int) -> str:
    """The command of a process; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except (FileNotFoundError, ProcessLookupError):
        return ""
