"""The benchmark runs, with sizes so small that its figures are meaningless."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STEPS = {
    *("offsets", "throughput", "cost", "json", "avro", "scale", "ids", "stop", "discovery", "metadata"),
    *(
        "planning",
        "start",
        "wan",
        "bare",
        "latency",
        "idle",
        "faults",
        "large",
        "memory",
        "sink",
        "protobuf",
        "columns",
        "compressed",
        "event-time",
        "commands",
    ),
}
# These measurements need another version of the package.
COMPARED = {"commands.validate", "commands.offsets"}
# These measurements apply to the real sizes, like targets with 64 cluster ids.
REAL_SIZES = {"ids.65", "ids.128", "ids.256", "latency.16", "faults.frozen", "faults.leaderless"} | {
    f"latency.{sink}.{rate}.4.{share}"
    for sink in ("foreach", "kafka")
    for rate in (1_000, 20_000)
    for share in ("p50", "p99")
}


# It takes more than five minutes alone, and much longer on a busy machine.
@pytest.mark.test_all
@pytest.mark.timeout(900)
def test_every_step_runs_and_writes_its_raw_figures(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "benchmark", "--smoke", "--out", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout
    (file,) = tmp_path.glob("bench-*.json")
    found = json.loads(file.read_text())
    assert found["failures"] == {}, ran.stdout
    assert {raw["step"] for raw in found["raw"]} == STEPS
    assert "Targets" in ran.stdout
    # The counts of records do not depend on the machine.
    assert found["targets"]["event-time.lost"]["met"], ran.stdout
    measured = {name for name, target in found["targets"].items() if target["value"] is not None}
    assert measured == {name for name in found["targets"] if "64" not in name} - REAL_SIZES - COMPARED
