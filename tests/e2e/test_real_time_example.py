"""The example of real-time mode runs unchanged, and copies each record once."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "real_time.py"


@pytest.mark.test_all
def test_the_example_copies_each_record_and_shows_latencies(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    assert "102 records were copied" in ran.stdout
    shown = re.findall(r"^(blue|green): 50 % within (\d+) ms, 99 % within (\d+) ms$", ran.stdout, re.MULTILINE)
    assert [name for name, _, _ in shown] == ["blue", "green"], ran.stdout
    assert all(int(p50) <= int(p99) for _, p50, p99 in shown), ran.stdout
