"""A query in a kernel of Jupyter: an interrupted cell, a restarted kernel: `make extra NAME=notebook`.

Not a name that pytest looks for, because only the environment of that target has ipykernel.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests.harness.copied_orders import RECORDS, Copies
from tests.harness.scene import Scene
from tests.harness.waiting import until

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300
SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
SESSION = f"""\
from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession
from tests.harness import copy_orders, jars
builder = SparkSession.builder.master("local[2]").config(map={SETTINGS!r})
spark = DynamicKafka.configure(builder, jars=[*jars.connector_jars(), jars.testkit_jar()]).getOrCreate()
"""


class Kernel:
    """A kernel of this Python, which executes one cell at a time."""

    def __init__(self) -> None:
        self._manager = KernelManager(kernel_name="python3")
        path = os.pathsep.join(path for path in sys.path[1:] if path)
        self._manager.start_kernel(cwd=str(ROOT), env={**os.environ, "PYTHONPATH": path})
        self._client = self._manager.blocking_client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=LIMIT_S)
        self._cells = ThreadPoolExecutor(1)

    def begin(self, code: str) -> Future[dict[str, Any]]:
        """Execute a cell, without waiting for its end; return when it is being executed."""
        mark = "executed" + os.urandom(4).hex()
        seen: list[str] = []

        def output(message: dict[str, Any]) -> None:
            seen.append(str(message["content"].get("text", "")))

        cell = f"print({mark!r}, flush=True)\n{code}"
        reply = self._cells.submit(
            self._client.execute_interactive, cell, timeout=LIMIT_S, output_hook=output, allow_stdin=False
        )
        until("the cell", lambda: reply.done() or mark in "".join(seen), LIMIT_S)
        return reply

    def run(self, code: str) -> None:
        """Execute a cell that has to succeed."""
        content = self.begin(code).result()["content"]
        assert content["status"] == "ok", content

    def interrupt(self) -> None:
        """What the button with the square does."""
        self._manager.interrupt_kernel()

    def restart(self) -> None:
        """Kill the kernel, and start another one."""
        self._manager.restart_kernel(now=True)
        self._client.wait_for_ready(timeout=LIMIT_S)

    def close(self) -> None:
        """End it."""
        self._cells.shutdown(cancel_futures=True)
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    kernel = Kernel()
    yield kernel
    kernel.close()


def test_an_interrupted_cell_and_a_restarted_kernel(kernel: Kernel, scene: Scene) -> None:
    copies = Copies(scene, hangs_at=4 * RECORDS + 1)
    start = f"query = copy_orders.start(spark, *{copies.arguments!r})"
    kernel.run(SESSION)
    kernel.run(start)
    copies.await_exact()
    kernel.run("query.processAllAvailable()")

    # Between two batches.
    _interrupt_a_waiting_cell(kernel)
    copies.produce()
    copies.await_exact()

    # In the middle of a batch, which a shell's Ctrl-C would cancel.
    copies.produce()
    copies.hanging_executor()
    _interrupt_a_waiting_cell(kernel)
    copies.release()
    copies.await_exact()

    # The same cells again continue on the checkpoint.
    copies.produce()
    kernel.restart()
    kernel.run(SESSION)
    kernel.run(start)
    copies.await_exact()
    kernel.run("query.processAllAvailable()")
    copies.check()


def _interrupt_a_waiting_cell(kernel: Kernel) -> None:
    waiting = kernel.begin("query.awaitTermination()")
    kernel.interrupt()
    content = waiting.result()["content"]
    assert content.get("ename") == "KeyboardInterrupt", content
    kernel.run("assert query.isActive, query.exception()")
