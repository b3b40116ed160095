"""A schema registry as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

REPOSITORY = Path(__file__).resolve().parents[2]
# Made by `make extra NAME=registry`.
UNPACKED = REPOSITORY / "target" / "registry"
START_SECONDS = 120


class Registry:
    """Apicurio Registry with storage in memory, at its API that is compatible with Confluent's."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log = log.open("wb")
        self._process = self._start()
        self._await()

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def register(self, subject: str, text: str, kind: str) -> int:
        """Add a schema to a subject, and return its id."""
        body = json.dumps({"schema": text, "schemaType": kind}).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(f"{self.url}/subjects/{subject}/versions", body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(json.load(answer)["id"])

    def freeze(self) -> None:
        """The process keeps its connections and does not respond, until `thaw`."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """End `freeze`."""
        self._process.send_signal(signal.SIGCONT)

    def _start(self) -> subprocess.Popen[bytes]:
        (jar,) = UNPACKED.glob("*-runner.jar")
        java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        address = [f"-Dquarkus.http.port={self._port}", "-Dquarkus.http.host=127.0.0.1"]
        # The class data archive of the brokers is of no use here.
        environment = {name: text for name, text in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
        return subprocess.Popen(
            [*java, *address, "-jar", str(jar)], stdout=self._log, stderr=self._log, env=environment, cwd=UNPACKED
        )

    def _await(self) -> None:
        until = time.monotonic() + START_SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                    return
            except (urllib.error.URLError, OSError):
                if self._process.poll() is not None or time.monotonic() > until:
                    self.close()
                    raise
                time.sleep(0.2)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._log.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
