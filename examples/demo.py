"""Shows the main job: a query keeps running while its clusters are added, drained, removed and added again.

    make demo

Orders are numbered JSON, and produced at a steady rate. In the first half a query delivers their fields. In the second
half a query turns them into shipments, written exactly once to a stream that moves to another cluster as well, and a
third query delivers the records of that stream. At the end of each half every order that a broker has acknowledged is
compared with every order that was delivered: if one is lost or duplicated, the exit code is 1. Then comes a SQL query
over the stream of orders. In the last part (demo/replacement.py) a query with state moves from Spark's own Kafka source
to this one, and its cluster is replaced by a copy that MirrorMaker has made, with other offsets: its totals stay right.
The query is that of examples/quickstart.py. Drivers are separate processes (demo/driver.py) and can be killed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from demo.batches import Batches
from demo.page import UI_PORT, free_port
from demo.producer import PARTITIONS, Producer
from demo.producer import order as value
from demo.query import Query
from demo.replacement import Replacement
from demo.screen import Row, Screen, View
from demo.streams import StreamsFile
from demo.verdict import Order, Verdict, compare

# isort: split
# Importable, because the package above has extended the path.
from dynamic_kafka_testkit import Cluster, Testkit

ROOT = Path(__file__).resolve().parents[1]
ORDERS_PER_SECOND = 200
TIMEOUT_S = 400


class DemoFailed(Exception):
    """The demo ended without a verdict."""


class Demo:
    """Two clusters, a producer and the query, and the events of the demo."""

    def __init__(self, folder: Path, dwell_s: float) -> None:
        self._folder = folder
        self.clusters: dict[str, Cluster] = {}
        self.down: set[str] = set()
        self.streams = StreamsFile(folder / "streams.yaml")
        self.batches = Batches(folder / "batches")
        self.query = Query(folder, self.streams.path, self.batches.folder)
        self.producer = Producer(ORDERS_PER_SECOND)
        self.screen = Screen(self.view)
        self._dwell_s = dwell_s
        self._dwell = round(dwell_s * ORDERS_PER_SECOND)

    def story(self, blue: Cluster, green: Cluster) -> None:
        """The events of the first half, in order."""
        for cluster in (blue, green):
            cluster.create_topic("orders", PARTITIONS)

        self.event("the stream 'orders' is on blue; the query starts")
        self.streams.write(blue)
        self.producer.move_to(blue)
        self.query.start()
        self.read_more_from(blue)

        self.event("green is added to the metadata")
        self.streams.write(blue, green)
        self.wait_until("green is read", lambda: self.query.states().get("green") == "active")

        self.event("producers move to green, and blue is set to draining")
        self.producer.move_to(green)
        self.streams.write(green, draining=blue)
        self.wait_until("blue has drained", lambda: self.query.states().get("blue") == "retained")
        self.read_more_from(green)

        self.event("blue is removed from the metadata, and its broker is killed")
        self.streams.write(green)
        self.wait_until("blue is removed", lambda: self.query.metric("kafkaClustersCount") == "1")
        blue.kill()
        self.down.add("blue")
        self.read_more_from(green)

        self.event("the driver is killed with -9; producing continues")
        self.query.kill()
        self.produce_more()

        self.event("the driver is restarted from its checkpoint")
        self.query.start()
        self.read_more_from(green)

        self.event("blue is added again, with its old and new orders")
        blue.restart()
        self.down.discard("blue")
        self.streams.write(blue, green)
        self.producer.move_to(blue, green)
        self.read_more_from(blue)

        self.event("the producer stops; the query reads the remaining orders")
        self.producer.stop()
        stopped = datetime.now(timezone.utc)
        self.wait_until("the query is idle", lambda: self.query.idle(since=stopped))
        self.query.stop()
        self.batches.refresh()

    def verdict(self) -> Verdict[Order]:
        """Compare every order, with its position."""
        return compare(self.producer.acknowledged, self.batches.orders())

    def second_half(self, blue: Cluster, green: Cluster) -> None:
        """The events of the second half: from clusters to clusters, while both streams move."""
        for cluster in (blue, green):
            cluster.create_topic("shipments", PARTITIONS)
        self.streams.names = ["orders", "shipments"]
        self.batches = Batches(self._folder / "shipments")
        self.query = Query(self._folder / "relay", self.streams.path, self.batches.folder, program="relay")

        self.event("all orders become shipments, exactly once; their stream is on blue")
        self.streams.write(blue)
        self.producer.resume(blue)
        self.query.start()
        self.read_more_from(blue)

        self.event("green is added to both streams; shipments are no longer written to blue")
        self.streams.write(blue, green, only_read=blue)
        self.read_more_from(green)

        self.event("producers move to green, and blue is set to draining in both")
        self.producer.move_to(green)
        self.streams.write(green, draining=blue)
        for name in ("relay", "reader"):
            self.wait_until(
                f"blue has drained, {name}", lambda n=name: self.query.states(n).get("blue") == "retained"
            )

        self.event("blue is removed from the metadata; its broker is killed, then the driver, with -9")
        self.streams.write(green)
        for name in ("relay", "reader"):
            self.wait_until(f"blue is removed, {name}", lambda n=name: self.query.clusters(n) == "1")
        blue.kill()
        self.down.add("blue")
        self.read_more_from(green)
        self.query.kill()
        self.produce_more()

        self.event("the driver is restarted from its checkpoints")
        self.query.start()
        self.read_more_from(green)

        self.event("the producer stops; the queries process the remaining orders")
        self.producer.stop()
        self.wait_until("every shipment is read", lambda: self.batches.numbers() >= self.producer.numbers())
        # A duplicate could follow.
        reports, read = self.query.reports + 4, datetime.now(timezone.utc)
        self.wait_until("the queries are idle", lambda: self.query.reports > reports and self.query.idle(read))
        self.query.stop()
        self.batches.refresh()

    def sql(self, cluster: Cluster) -> Verdict[str]:
        """The last step: orders of the cluster in a SQL query, through the catalog, compared with the producer."""
        self.event(f"a SQL query over the stream 'orders', which is on {cluster.name}")
        done = subprocess.run(
            [sys.executable, "-m", "demo.sql", str(self.streams.path)],
            capture_output=True,
            text=True,
            cwd=self._folder,
            env=os.environ | {"PYTHONPATH": str(ROOT / "examples"), "SPARK_LOCAL_IP": "127.0.0.1"},
            timeout=TIMEOUT_S,
            check=False,
        )
        if done.returncode != 0:
            raise DemoFailed(f"the SQL query failed:\n{done.stderr[-3000:]}")
        numbers = [order.sequence for order in self.producer.acknowledged if order.cluster == cluster.name]
        amount = sum(json.loads(value(number))["amount"] for number in numbers)
        expected = f"{cluster.name}: {len(numbers)} orders, amount {amount}"
        return compare([expected], done.stdout.strip().splitlines())

    def third_part(self, testkit: Testkit, blue: Cluster, green: Cluster) -> Replacement:
        """The events of the last part: a query that moves, and a cluster that is replaced."""
        part = Replacement(self, self._folder / "payments", ORDERS_PER_SECOND, self._dwell_s)
        self.screen = Screen(part.view)
        with self.screen:
            part.story(testkit, blue, green)
        return part

    def second_verdict(self) -> Verdict[int]:
        """Compare the numbers of orders and of shipments."""
        produced = [order.sequence for order in self.producer.acknowledged]
        return compare(produced, [shipment.sequence for shipment in self.batches.orders()])

    def event(self, text: str) -> None:
        """Show the next event."""
        self.screen.event(text)

    def read_more_from(self, cluster: Cluster) -> None:
        """Wait until the orders of some more seconds have been read from the cluster."""
        enough = self.batches.counts[cluster.name] + self._dwell
        self.wait_until(f"{cluster.name} is read", lambda: self.batches.counts[cluster.name] >= enough)

    def produce_more(self) -> None:
        """Wait until the orders of some more seconds have been produced."""
        enough = self.producer.counts.total() + self._dwell
        self.wait_until("orders are produced", lambda: self.producer.counts.total() >= enough)

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition; fail if the producer or the query fails."""
        deadline = time.monotonic() + TIMEOUT_S
        while not condition():
            if self.producer.error is not None:
                raise DemoFailed(f"the producer failed: {self.producer.error}")
            if self.query.failed():
                raise DemoFailed(f"the query failed:\n{self.query.log_tail()}\n\nMore is in {self.query.log}")
            if time.monotonic() > deadline:
                raise DemoFailed(f"not within {TIMEOUT_S} s: {what}. The log is {self.query.log}")
            self.screen.tick()
            # The condition depends on other processes; the screen is refreshed meanwhile.
            time.sleep(0.1)
            self.query.refresh()
            self.batches.refresh()

    def view(self) -> View:
        """The current state for the screen."""
        states = self.query.states()
        rows = [
            Row(
                cluster=name,
                broker="down" if name in self.down else "up",
                metadata=self.streams.states.get(name, "-"),
                query=states.get(name, "-"),
                produced=self.producer.counts[name],
                read=self.batches.counts[name],
                amount=self.batches.amounts[name],
            )
            for name in self.clusters
        ]
        if self.query.pid is None:
            driver = "driver: not running"
        else:
            driver = f"driver: run {self.query.runs}, pid {self.query.pid}, last batch {self.query.batch}"
        return View(rows, driver, shipped="shipments" in self.streams.names)


def main() -> int:
    """Run the demo; return the exit code."""
    parser = argparse.ArgumentParser(description="Shows the main job on two local clusters.")
    parser.add_argument("--fast", action="store_true", help="with short pauses between the events")
    parser.add_argument("--folder", type=Path, default=ROOT / "target" / "demo", help="emptied, then written to")
    args = parser.parse_args()
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)

    with ExitStack() as stack:
        # Each driver has its page at the same address, so that a browser follows the demo.
        os.environ[UI_PORT] = str(free_port())
        print(f"The page of the queries, while a driver runs: http://127.0.0.1:{os.environ[UI_PORT]}/", flush=True)
        testkit = stack.enter_context(Testkit())
        demo = Demo(args.folder.resolve(), dwell_s=1 if args.fast else 5)
        stack.callback(lambda: demo.query.stop())
        stack.callback(lambda: demo.producer.stop())
        try:
            with demo.screen:
                demo.event("two Kafka clusters start")
                blue, green = testkit.start_all("blue", "green")
                demo.clusters.update(blue=blue, green=green)
                demo.story(blue, green)
            verdict = demo.verdict()
            demo.screen.verdict(str(verdict), verdict.details(at_most=20), verdict.passed)
            demo.screen = Screen(demo.view)
            with demo.screen:
                demo.second_half(blue, green)
                sql = demo.sql(green)
            second = demo.second_verdict()
            demo.screen.verdict(
                f"exactly once from clusters to clusters: {second}", second.details(at_most=20), second.passed
            )
            answer = "as produced" if sql.passed else "not as produced"
            demo.screen.verdict(f"SQL over the stream: {answer}", sql.details(at_most=20), sql.passed)
            totals, line = demo.third_part(testkit, blue, green).verdict()
            demo.screen.verdict(line, totals.details(at_most=20), totals.passed)
        except DemoFailed as failure:
            demo.screen.failure(str(failure))
            return 1
        return 0 if all(result.passed for result in (verdict, second, sql, totals)) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
