"""A Spark Connect server as a process, and programs as its clients."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from .waiting import until

_HERE = Path(__file__).resolve().parent
_LIMIT_S = 300
_STARTED = re.compile(r"Spark Connect server started at: .*?:(\d+)\D*$", re.MULTILINE)


class ConnectServer:
    """Listens when the constructor returns.

    Args:
        folder: For its log and its files.
        jars: The jars of the server.
    """

    def __init__(self, folder: Path, jars: Iterable[Path] = ()) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "server.log"
        log4j = (_HERE / "log4j2.properties").as_uri()
        conf = {
            "spark.connect.grpc.binding.port": "0",
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"-XX:+UseSerialGC -Dlog4j2.configurationFile={log4j}",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.local.dir": str(folder / "local"),
        }
        command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
        command += [argument for name, value in conf.items() for argument in ("--conf", f"{name}={value}")]
        given = ",".join(map(str, jars))
        command += ["--jars", given] if given else []
        command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
        # The script uses this Python to find Spark.
        env = os.environ | {"PYSPARK_PYTHON": sys.executable}
        with self._log.open("wb") as log:
            # A separate process group: the shell script and the JVM are killed together.
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.url = f"sc://127.0.0.1:{until('the Connect server', self._port, 180)}"

    def client(self, program: str, *arguments: str) -> dict[str, Any]:
        """Run a module against the server. The last line of its output is its result, as JSON."""
        done = subprocess.run(
            [sys.executable, "-m", program, self.url, *arguments],
            cwd=_HERE.parents[1],
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
        # The JVM's part of the error is also in the log, and is long.
        said = done.stderr.partition("JVM stacktrace:")[0]
        assert done.returncode == 0, f"{said[-4000:]}\nthe server's log: {self._log}"
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def log(self) -> str:
        """The log so far."""
        return self._log.read_text(errors="replace")

    def close(self) -> None:
        """Kill the server."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def _port(self) -> str | None:
        found = _STARTED.search(self.log())
        assert found or self._process.poll() is None, self.log()[-4000:]
        return found[1] if found else None

    def __enter__(self) -> ConnectServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
