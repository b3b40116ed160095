"""Streams that a program copies exactly once, whoever runs it: `copy_orders.py` or `CopyOrders.scala`."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

from .output_checker import visible
from .scene import Scene
from .waiting import until
from .watcher import Watcher

PROGRAM = Path(__file__).with_name("copy_orders.py")
SOURCES = ("blue", "green")
TARGETS = ("green", "red")
# The number of records of each cluster, at each time.
RECORDS = 40


class Copies:
    """The streams `orders` and `copies`, and the program that writes one to the other.

    Args:
        scene: The environment of the test.
        hangs_at: The number of the record of `blue` at which the first task that reads it hangs.
    """

    def __init__(self, scene: Scene, hangs_at: int = RECORDS // 4) -> None:
        self._scene = scene
        self._orders, metadata = scene.filled("orders", *SOURCES, records=RECORDS)
        self._copies = scene.topic(*TARGETS)
        metadata.stream("copies", {name: [self._copies] for name in TARGETS}).write()
        self._marker = scene.folder / "task-fault"
        self.arguments = (
            *(str(metadata.path), str(scene.folder / "checkpoint")),
            *(f"blue-{hangs_at}", str(self._marker)),
        )

    def hanging_executor(self, program: subprocess.Popen[bytes] | None = None) -> int:
        """Wait until the task with the fault hangs; return the process of its executor."""
        pid = self._marker.with_name(f"{self._marker.name}.pid")
        until("a task that hangs", lambda: pid.exists() or (program is not None and program.poll() is not None))
        return int(pid.read_text())

    def release(self) -> None:
        """Let the task with the fault continue."""
        self._marker.with_name(f"{self._marker.name}.go").touch()

    def produce(self) -> None:
        """Produce more orders on all clusters."""
        for name in SOURCES:
            self._scene.produce(name, self._orders, RECORDS)

    def await_exact(self) -> None:
        """Wait until there are as many copies as orders, and compare them."""
        expected = self._expected()
        until("all copies", lambda: self._found().total() >= expected.total())
        self.check()

    def check(self) -> None:
        """Compare the orders with the copies."""
        assert self._found() == self._expected()

    def watcher(self) -> Watcher:
        """A watcher for copies that disappear."""
        return Watcher((name, self._scene.brokers[name], self._copies) for name in TARGETS)

    def _expected(self) -> Counter[str]:
        return Counter(str(r.value) for name in SOURCES for r in self._scene.brokers[name].dump(self._orders))

    def _found(self) -> Counter[str]:
        targets = {name: self._scene.brokers[name] for name in TARGETS}
        return Counter(record.value for record in visible(targets, self._copies))
