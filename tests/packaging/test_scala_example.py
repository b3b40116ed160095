"""The Scala example, compiled and run as users would: spark-submit with the connector's coordinates."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.orders import RECORDS, Orders
from tests.harness.scala_compiler import compiled
from tests.harness.waiting import until

from .home import COORDINATE, conf, environment, published

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "Quickstart.scala"
LIMIT_S = 300


# In `make test`, `spark-shell` runs the quickstart with `--packages`, and all Scala of the documents is compiled.
@pytest.mark.test_all
def test_quickstart_in_scala(orders: Orders, tmp_path: Path) -> None:
    jar = _compiled(tmp_path)
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]", *conf(tmp_path)]
    command += ["--packages", COORDINATE, "--class", "Quickstart", str(jar), str(orders.streams)]
    log = tmp_path / "log"
    with log.open("w") as out:
        quickstart = subprocess.Popen(command, stdout=out, stderr=out, cwd=tmp_path, env=environment())
        try:

            def shown() -> bool:
                assert quickstart.poll() is None, log.read_text()[-6000:]
                text = log.read_text()
                return all(f"|orders|{cluster:>7}|{RECORDS:>5}|" in text for cluster in ("blue", "green"))

            until("both counts", shown, LIMIT_S)
        finally:
            quickstart.send_signal(signal.SIGTERM)
            quickstart.wait(60)


def _compiled(folder: Path) -> Path:
    """Compiles against the published artifact."""
    _, artifact, version = COORDINATE.split(":")
    return compiled(EXAMPLE, folder, [published() / f"{artifact}-{version}.jar"])
