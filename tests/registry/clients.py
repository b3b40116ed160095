"""The process of `foreign.py`."""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from dynamic_kafka_testkit import Cluster

from tests.registry.server import REPOSITORY, Registry

PYTHON = REPOSITORY / "target" / "venv-registry" / "bin" / "python"


class Foreign:
    """Clients and encoders that this project did not write, in a process of their own."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [str(PYTHON), str(Path(__file__).with_name("foreign.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def produce(
        self,
        cluster: Cluster,
        registry: Registry,
        topic: str,
        codec: dict[str, Any],
        records: Sequence[tuple[str, Any]],
        partitions: int = 2,
    ) -> None:
        """Write pairs of key and value, to the partitions in turn."""
        place = {"servers": cluster.bootstrap_servers, "registry": registry.url, "topic": topic}
        self._call("produce", **place, **codec, records=list(records), partitions=partitions)

    def consume(
        self, cluster: Cluster, registry: Registry, topic: str, codec: dict[str, Any]
    ) -> list[tuple[str, Any]]:
        """The keys and values of all records that `read_committed` consumers see now."""
        place = {"servers": cluster.bootstrap_servers, "registry": registry.url, "topic": topic}
        return [(key, value) for key, value in self._call("consume", **place, **codec)]

    def descriptor_file(self, codec: dict[str, Any], path: Path) -> str:
        """Write the descriptor file of a codec."""
        path.write_bytes(base64.b64decode(self._call("descriptor", **codec)))
        return str(path)

    def _call(self, do: str, **more: Any) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, f"the process ended with {self._process.wait()}"
        answer = json.loads(line)
        assert "error" not in answer, f"{do}: {answer}"
        return answer["result"]

    def __enter__(self) -> Foreign:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
