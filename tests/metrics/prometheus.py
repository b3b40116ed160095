"""A Prometheus server of Debian's package: `make extra NAME=metrics` unpacks it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from tests.harness.waiting import until

FOLDER = Path(os.environ.get("PROMETHEUS", Path(__file__).resolve().parents[2] / "target" / "prometheus"))
_PROGRAMS = FOLDER / "usr" / "bin"

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: {rules}
scrape_configs:
  - job_name: spark
    metrics_path: /metrics/prometheus/
    static_configs: [{{targets: ["{target}"]}}]
"""


@dataclass(frozen=True)
class Prometheus:
    """The HTTP interface of Prometheus."""

    address: str

    def get(self, path: str, **parameters: str) -> Any:
        """The data of an answer."""
        with urlopen(f"http://{self.address}/api/v1/{path}?{urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def query(self, expression: str) -> list[dict[str, str]]:
        """The labels of the series that the expression yields now."""
        return [each["metric"] for each in self.get("query", query=expression)["result"]]


@contextmanager
def prometheus(folder: Path, target: str, rules: list[Path]) -> Iterator[Prometheus]:
    """A server that reads the metrics of a driver's UI each second, and ends with the block."""
    configuration = folder / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(target=target, rules=json.dumps([str(each) for each in rules])))
    log = folder / "prometheus.log"
    command = [
        *(
            str(_PROGRAMS / "prometheus"),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
        ),
        "--web.listen-address=127.0.0.1:0",
    ]
    with log.open("w") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as server:
        try:

            def listening() -> re.Match[str] | None:
                if server.poll() is not None:
                    raise AssertionError(log.read_text())
                return re.search(r"TLS is disabled.*address=(\S+)", log.read_text())

            found = until("Prometheus listens", listening)
            assert found is not None
            yield Prometheus(found[1])
        finally:
            server.terminate()
