"""A standalone Spark cluster on this machine. Its workers are two hosts for Spark, as speculation requires."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark

from .waiting import until

HOSTS = ("127.0.0.1", "127.0.0.2")
_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_STARTED = re.compile(r"Starting Spark master at (\S+)")
_DEPLOY = "org.apache.spark.deploy"


def executors(folder: Path) -> set[int]:
    """The processes of the executors of a cluster that was started with this folder."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            # A worker starts an executor in <folder>/<host>/<application>/<number>.
            here = process.name.isdigit() and Path(os.readlink(process / "cwd")).is_relative_to(folder)
            # The launcher of an executor is in this folder, too, until it becomes the executor.
            if here and b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes():
                found.add(int(process.name))
        except OSError:
            pass  # It has ended.
    return found


@contextmanager
def standalone(folder: Path, environments: Mapping[str, Mapping[str, str]] | None = None) -> Iterator[str]:
    """Run a master, and a worker with one core for each host; yield the master's URL.

    Args:
        folder: For logs and files of the workers.
        environments: Environment variables of a worker by host, which its executors inherit.
    """
    folder.mkdir()
    processes: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Path:
        log = folder / f"{name}.log"
        with log.open("wb") as errors:
            processes.append(
                subprocess.Popen(
                    [str(_SPARK_CLASS), *arguments],
                    env={
                        **os.environ,
                        "SPARK_DAEMON_MEMORY": "256m",
                        "SPARK_NO_DAEMONIZE": "1",
                        **(environment or {}),
                    },
                    stdout=errors,
                    stderr=errors,
                    start_new_session=True,
                )
            )
        return log

    try:
        log = start("master", f"{_DEPLOY}.master.Master", "--host", HOSTS[0], "--port", "0", "--webui-port", "0")
        found = until("the master", lambda: _STARTED.search(log.read_text()), 300)
        assert found is not None
        url = found[1]
        logs = [
            start(
                f"worker-{host}",
                f"{_DEPLOY}.worker.Worker",
                *("--host", host, "--webui-port", "0", "--cores", "1", "--memory", "1g"),
                *("--work-dir", str(folder / host)),
                url,
                environment=(environments or {}).get(host),
            )
            for host in HOSTS
        ]
        for log in logs:
            until("a worker", lambda log=log: "registered with master" in log.read_text(), 300)  # type: ignore[misc]
        yield url
    finally:
        for process in processes:
            # The executors of a worker are in its process group.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
