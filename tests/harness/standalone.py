"""A standalone Spark cluster on this machine. Its workers are two hosts for Spark, as speculation requires."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from .driver_pool import DriverPool
from .driver_process import DriverProcess
from .waiting import until

HOSTS = ("127.0.0.1", "127.0.0.2")
_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_STARTED = re.compile(r"Starting Spark master at (\S+)")
_DEPLOY = "org.apache.spark.deploy"


# Executors of this size, several on a worker.
SMALL = {"spark.executor.memory": "512m", "spark.executor.cores": "1"}
# All executors have registered before the first task.
COMPLETE = {
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "300s",
}
# As soon as one of two tasks has finished, the other one counts as slow.
SPECULATION = {
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.multiplier": "1.5",
    "spark.speculation.interval": "100ms",
}
# Options of a source: two tasks or more in each batch.
SEVERAL_TASKS = {"maxOffsetsPerTrigger": "200", "maxRecordsPerPartition": "20"}


@dataclass(frozen=True)
class Standalone:
    """A running cluster.

    Args:
        master: The URL of its master.
        folder: For logs and files of the workers.
        workers: The process of each worker, by its host.
    """

    master: str
    folder: Path
    workers: dict[str, int] = field(default_factory=dict)

    def driver(self, drivers: DriverPool, *conf: Mapping[str, str]) -> DriverProcess:
        """Start a driver with small executors on this cluster, and settings in addition."""
        merged = {name: value for settings in (SMALL, *conf) for name, value in settings.items()}
        return drivers.configured({"spark.master": self.master, **merged})

    def executors(self) -> set[int]:
        """The processes of the executors."""
        return self._running("CoarseGrainedExecutorBackend")

    def drivers(self) -> set[int]:
        """The processes of drivers that workers have started, which is what the deploy mode `cluster` means."""
        return self._running("worker.DriverWrapper")

    def _running(self, main_class: str) -> set[int]:
        found = set()
        for process in Path("/proc").iterdir():
            try:
                # A worker starts an executor in <folder>/<host>/<application>/<number>, and a driver beside it.
                here = process.name.isdigit() and Path(os.readlink(process / "cwd")).is_relative_to(self.folder)
                # The launcher is in this folder, too, until it becomes the program.
                if here and main_class.encode() in (process / "cmdline").read_bytes():
                    found.add(int(process.name))
            except OSError:
                pass  # It has ended.
        return found


@contextmanager
def standalone(
    folder: Path, environments: Mapping[str, Mapping[str, str]] | None = None, cores: int = 1
) -> Iterator[Standalone]:
    """Run a master, and a worker for each host.

    Args:
        folder: For logs and files of the workers.
        environments: Environment variables of a worker by host, which its executors inherit.
        cores: Of each worker, which has 1 GB for each of them.
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
        cluster = Standalone(found[1], folder)
        logs = []
        for host in HOSTS:
            logs.append(
                start(
                    f"worker-{host}",
                    f"{_DEPLOY}.worker.Worker",
                    *("--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", f"{cores}g"),
                    *("--work-dir", str(folder / host)),
                    cluster.master,
                    environment=(environments or {}).get(host),
                )
            )
            cluster.workers[host] = processes[-1].pid
        for log in logs:
            until("a worker", lambda log=log: "registered with master" in log.read_text(), 300)  # type: ignore[misc]
        yield cluster
    finally:
        for process in processes:
            # The executors of a worker are in its process group, also when a test has killed the worker.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
