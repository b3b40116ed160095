"""The server process and its JSON lines."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import IO, Any

_MAIN = "io.github.dynamickafka.testkit.TestkitServer"
_ENDED = "the testkit's server has ended"

# Long enough to stop every broker. The remaining ones end with the server.
STOP_TIMEOUT_S = 30


class TestkitError(Exception):
    """The testkit refused a request, or the request failed."""

    # pytest would collect a class of this name.
    __test__ = False


class Server:
    """A running server. Thread-safe."""

    def __init__(self, classpath_file: Path) -> None:
        if not classpath_file.is_file():
            raise TestkitError(f"{classpath_file} is missing; build it: ./sbt testkit/testkitClasspath")
        self._process = subprocess.Popen(
            [_java(), "-Xmx1g", "-XX:+UseSerialGC", "-cp", classpath_file.read_text(), _MAIN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            # A Ctrl-C at the terminal must only reach the tests, which stop readers before the brokers.
            start_new_session=True,
        )
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="testkit-answers", daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, method: str, **params: Any) -> Any:
        """Send a request and wait for its result."""
        answer: Future[Any] = Future()
        with self._lock:
            if self._ended:
                raise TestkitError(_ENDED)
            number = next(self._ids)
            line = json.dumps({"id": number, "method": method, "params": params})
            try:
                self._stdin.write(line + "\n")
                self._stdin.flush()
            except BrokenPipeError as e:
                raise TestkitError(_ENDED) from e
            self._waiting[number] = answer
        return answer.result()

    def stop(self) -> None:
        """End the server and all brokers that it started."""
        # Closing flushes a request that could not be written before, which fails again.
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._stdin.close()
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as answers:
            for line in answers:
                # The JVM itself says here why it does not start.
                if line.startswith("{"):
                    self._resolve(json.loads(line))
                else:
                    print(line, end="", file=sys.stderr)
        with self._lock:
            self._ended = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for waiting in left:
            waiting.set_exception(TestkitError(_ENDED))

    def _resolve(self, answer: dict[str, Any]) -> None:
        with self._lock:
            waiting = self._waiting.pop(answer["id"])
        if "error" in answer:
            waiting.set_exception(TestkitError(answer["error"]))
        else:
            waiting.set_result(answer["result"])


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if found is None:
        raise TestkitError("no java: set JAVA_HOME or PATH")
    return found
