"""Two local Kafka clusters for the quickstart: blue at localhost:19092, green at localhost:29092.

    python examples/clusters.py start
    python examples/clusters.py stop

Each has one broker and the topic `orders` with two partitions. `start` returns when both serve; they run until `stop`,
which deletes their data. Run `./sbt testkit/testkitClasspath` or `make jars` first.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PORTS = {"blue": 19092, "green": 29092}
# The owner of the clusters runs for as long as this file names it.
OWNER = ROOT / "target" / "clusters.pid"
LOG = ROOT / "target" / "clusters.log"
READY = "ready"
STOP_TIMEOUT_S = 30

sys.path.insert(0, str(ROOT / "jvm" / "testkit" / "python"))


def start() -> None:
    """Start a process that owns the clusters, and wait until they serve."""
    stop()
    OWNER.parent.mkdir(exist_ok=True)
    with LOG.open("w") as log:
        # A session of its own: neither Ctrl-C nor closing the terminal ends it.
        process = subprocess.Popen(
            [sys.executable, __file__, "serve"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    if process.stdout.readline().strip() != READY:
        sys.exit(f"the clusters did not start:\n{LOG.read_text()[-2000:]}\nMore is in {LOG}")
    for name, port in PORTS.items():
        print(f"{name}: localhost:{port}")


def serve() -> None:
    """Run the clusters until `stop`."""
    from dynamic_kafka_testkit import Testkit

    own = str(os.getpid())
    with Testkit() as testkit:
        for name, port in PORTS.items():
            testkit.start(name, port=port).create_topic("orders", partitions=2)
        OWNER.write_text(own)
        print(READY, flush=True)
        while OWNER.exists() and OWNER.read_text() == own:
            # Polling is necessary, because Python has no notification for a file that is removed.
            time.sleep(0.2)


def stop() -> None:
    """End the clusters, if they run."""
    if not OWNER.exists():
        return
    OWNER.unlink()
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while any(accepts(port) for port in PORTS.values()):
        if time.monotonic() > deadline:
            sys.exit(f"the clusters still run after {STOP_TIMEOUT_S} s")
        # Polling is necessary, because the brokers are not children of this process.
        time.sleep(0.2)


def accepts(port: int) -> bool:
    """Whether a server listens on this port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


COMMANDS = {"start": start, "serve": serve, "stop": stop}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(__doc__)
    COMMANDS[sys.argv[1]]()
