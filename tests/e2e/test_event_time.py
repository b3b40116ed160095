"""The example of event time runs unchanged, and loses records only without alignment."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "event_time.py"


@pytest.mark.test_all
def test_the_example_loses_records_only_without_alignment(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=True)
    totals = {
        what: [int(n) for n in numbers.split()]
        for what, numbers in re.findall(r"^(counted|lost) +([\d ]+)$", ran.stdout, re.MULTILINE)
    }
    # Blue and green without alignment, then both with it.
    blue, green, *aligned = totals["counted"]
    assert (blue, aligned) == (60, [60, 360]), ran.stdout
    assert green < 180, ran.stdout
    assert totals["lost"] == [0, 360 - green, 0, 0], ran.stdout
