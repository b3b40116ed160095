"""A query in an interactive Python: Ctrl-C, and a process that is killed and started again, as a notebook's kernel."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pyspark
import pytest

from tests.harness.copied_orders import RECORDS, Copies
from tests.harness.scene import Scene
from tests.harness.waiting import until

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.driver.host": "127.0.0.1"}
SESSION = f"""\
from dynamic_kafka import DynamicKafka
from pyspark.sql import SparkSession
from tests.harness import copy_orders, jars
builder = SparkSession.builder.master("local[2]").config(map={SETTINGS!r})
spark = DynamicKafka.configure(builder, jars=[*jars.connector_jars(), jars.testkit_jar()]).getOrCreate()
"""
DONE = "done with it"
# Before PySpark 4.2, the handler of SIGINT calls the JVM, and fails if another call is pending.
INTERRUPTED = ("KeyboardInterrupt", *(("reentrant call",) if pyspark.__version__ < "4.2" else ()))


class Shell:
    """An interactive Python on a terminal of its own."""

    def __init__(self) -> None:
        self._terminal, slave = pty.openpty()
        self._text = ""
        self._process = subprocess.Popen(
            [sys.executable, "-i", "-q"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path[1:]), "TERM": "dumb"},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            # The terminal is that of the process, so that Ctrl-C becomes a signal to all processes of the shell.
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        threading.Thread(target=self._read, daemon=True).start()

    def run(self, code: str, shows: str = DONE) -> None:
        """Type statements and wait until they have ended, or for a text."""
        start = len(self._text)
        for line in code.splitlines():
            self._type(f"{line}\n")
        if shows == DONE:
            self._type("print('done', 'with it')\n")
        self._shows((shows,), start)

    def interrupt(self) -> None:
        """Press Ctrl-C, and wait until the shell has noticed: what is typed before is lost."""
        start = len(self._text)
        self._type("\x03")
        self._shows(INTERRUPTED, start)

    def _type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def _shows(self, texts: tuple[str, ...], start: int) -> None:
        def is_shown() -> bool:
            return any(text in self._text[start:] for text in texts)

        until(f"{' or '.join(texts)} in the shell", lambda: is_shown() or self._ended(), 120)
        assert is_shown(), self._text[-3000:]

    def kill(self) -> None:
        """End the process, and no other one, with SIGKILL."""
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def close(self) -> None:
        """End all processes of the shell."""
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()

    def _ended(self) -> bool:
        return self._process.poll() is not None

    def _read(self) -> None:
        try:
            while data := os.read(self._terminal, 4096):
                self._text += data.decode(errors="replace")
        except OSError:
            pass  # All processes with the terminal have ended.


@pytest.mark.test_all
def test_ctrl_c_and_a_restart_of_the_process(scene: Scene) -> None:
    copies = Copies(scene, hangs_at=4 * RECORDS + 1)
    start = f"query = copy_orders.start(spark, *{copies.arguments!r})"
    shells = [Shell()]
    try:
        (shell,) = shells
        shell.run(SESSION)
        shell.run(start)
        copies.await_exact()
        shell.run("query.processAllAvailable()")

        # Between two batches: the statement is interrupted, and the query continues.
        shell.run("print('wait', 'ing', sep=''); query.awaitTermination()", shows="waiting")
        shell.interrupt()
        shell.run("print('active:', query.isActive)", shows="active: True")
        copies.produce()
        copies.await_exact()

        # In the middle of a batch: PySpark cancels the job, so that the query fails.
        copies.produce()
        copies.hanging_executor()
        shell.interrupt()
        shell.run("query.awaitTermination()", shows="[SPARK_JOB_CANCELLED]")
        shell.run("query.awaitTermination()", shows="StreamingQueryException: [STREAM_FAILED]")
        # The same statement again continues on the checkpoint.
        shell.run(start)
        copies.await_exact()

        # The process of a kernel is killed, and the next one continues on the checkpoint.
        copies.produce()
        shell.kill()
        shells.append(Shell())
        shells[-1].run(SESSION + start)
        copies.await_exact()
    finally:
        for shell in shells:
            shell.close()
    copies.check()
