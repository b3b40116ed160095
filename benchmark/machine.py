"""The load of the machine, by this process and by others. It is read from /proc, so on Linux only."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def describe() -> dict[str, Any]:
    """Describe the machine without its name."""
    facts: dict[str, Any] = {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    if (_PROC / "cpuinfo").exists():
        models = [line for line in (_PROC / "cpuinfo").read_text().splitlines() if line.startswith("model name")]
        facts["cpu"] = models[0].split(":", 1)[1].strip() if models else "unknown"
        kib = (_PROC / "meminfo").read_text().split("MemTotal:")[1].split()[0]
        facts["memory_gib"] = round(int(kib) / 2**20, 1)
    return facts


class Load:
    """Measures the CPU that this process and its children use, and what others use meanwhile."""

    def __init__(self, *roots: int) -> None:
        self._roots = {os.getpid(), *roots}
        self._begin = time.monotonic()
        self._busy, self._stolen = _system()
        self._ours = self._tree_seconds()

    def stop(self) -> dict[str, float]:
        """Return the cores in use since the beginning. Distrust a measurement during which others used many."""
        seconds = max(time.monotonic() - self._begin, 1e-3)
        busy, stolen = _system()
        ours = self._tree_seconds() - self._ours
        return {
            "seconds": round(seconds, 1),
            "cores_ours": round(ours / seconds, 2),
            "cores_of_others": round(max(0.0, busy - self._busy - ours) / seconds, 2),
            "cores_stolen": round((stolen - self._stolen) / seconds, 2),
            "load_average": round(os.getloadavg()[0], 2),
        }

    def _tree_seconds(self) -> float:
        children: dict[int, list[int]] = {}
        used: dict[int, float] = {}
        for entry in _PROC.glob("[0-9]*"):
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            pid = int(entry.name)
            children.setdefault(int(fields[1]), []).append(pid)
            used[pid] = sum(int(t) for t in fields[11:15]) / _TICKS
        total, left, seen = 0.0, list(self._roots), set[int]()
        while left:
            pid = left.pop()
            if pid not in seen:
                seen.add(pid)
                total += used.get(pid, 0.0)
                left += children.get(pid, [])
        return total


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process; 0 if it is not available."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _system() -> tuple[float, float]:
    try:
        user, nice, system, _, _, irq, soft, steal = (
            int(n) / _TICKS for n in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]
        )
    except OSError:
        return 0.0, 0.0
    return user + nice + system + irq + soft, steal
