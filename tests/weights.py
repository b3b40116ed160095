"""`python -m tests.weights`: stores how long suites and files took in the last `make test`, to balance the next one."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
# Shorter ones do not affect the balance.
_LEAST_S = 2


def suites() -> dict[str, float]:
    """Seconds of each Scala suite, by its name without the package."""
    found = {}
    for report in (_ROOT / "jvm").glob("*/target/test-reports/TEST-*.xml"):
        suite = ET.parse(report).getroot().attrib
        found[suite["name"].rpartition(".")[2]] = float(suite["time"])
    return found


def files() -> dict[str, float]:
    """Seconds of each pytest file."""
    found: dict[str, float] = defaultdict(float)
    for test in ET.parse(_ROOT / "target" / "pytest.xml").getroot().iter("testcase"):
        module = next(part for part in test.attrib["classname"].split(".") if part.startswith("test_"))
        found[f"{module}.py"] += float(test.attrib["time"])
    return found


def write(path: Path, seconds: dict[str, float]) -> None:
    longest = sorted(((s, name) for name, s in seconds.items() if s >= _LEAST_S), reverse=True)
    path.write_text("".join(f"{name} {s:.0f}\n" for s, name in longest))
    print(f"{path.relative_to(_ROOT)}: {len(longest)}, {sum(seconds.values()):.0f} s")


if __name__ == "__main__":
    write(_ROOT / "project" / "suite-seconds.txt", suites())
    write(_ROOT / "tests" / "seconds.txt", files())
