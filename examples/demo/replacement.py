"""The third part of the demo: a query moves from Spark's Kafka source, and then its cluster is replaced by a copy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import yaml
from dynamic_kafka_testkit import Cluster, Record, Testkit

from demo import totals
from demo.producer import PARTITIONS, Producer
from demo.producer import order as value
from demo.query import Query
from demo.screen import Row, View
from demo.verdict import Verdict, compare

# The expired records of each partition: the copy has other offsets.
EXPIRED = 500


class Stage(Protocol):
    """What this part uses of the demo."""

    query: Query
    producer: Producer

    def event(self, text: str) -> None:
        """Show the next event."""

    def wait_until(self, what: str, condition: Callable[[], bool]) -> None:
        """Wait for a condition; fail if the producer or the query fails."""


class Replacement:
    """Payments on the cluster id `blue`, which leads to green later, and a query that has totals of them."""

    def __init__(self, stage: Stage, folder: Path, orders_per_second: int, dwell_s: float) -> None:
        folder.mkdir()
        self._stage = stage
        self._folder = folder
        self._streams = folder / "streams.yaml"
        self._dwell = round(dwell_s * orders_per_second)
        self._rate = orders_per_second
        self._kafka = "blue"
        self._file = (0, totals.read(folder))

    def story(self, testkit: Testkit, blue: Cluster, green: Cluster) -> None:
        """The events, in order."""
        stage = self._stage
        blue.restart()
        blue.create_topic("payments", PARTITIONS)
        for partition in range(PARTITIONS):
            blue.produce("payments", [Record(partition, None, value(-1))] * EXPIRED)
            blue.delete_records("payments", partition, before_offset=EXPIRED)
        mirror = testkit.mirror(
            blue, green, alias="blue", topics=["payments"], groups=[totals.GROUP], identity=True
        )

        stage.event("payments are on blue; a query with Spark's own Kafka source has their totals in its state")
        self._write_streams(blue)
        stage.query = self._query("before")
        stage.producer = Producer(self._rate, topic="payments")
        stage.producer.move_to(blue)
        stage.query.start()
        self._count_more()

        stage.event("the query is stopped between two batches, and its checkpoint is migrated")
        stage.producer.stop()
        self._count_all()
        stage.query.stop()
        stage.producer.resume(blue)
        self._migrate()

        stage.event("the query continues with this connector: the same state, offsets and batch numbers")
        stage.query = self._query("after")
        stage.query.start()
        self._count_more()

        stage.event("MirrorMaker copies blue to green, with checkpoints of the query's consumer group")
        stage.wait_until(
            "MirrorMaker has checkpoints",
            lambda: len(green.committed_offsets(totals.GROUP).get("payments", {})) == PARTITIONS,
        )
        stage.producer.stop()
        # Not by their number: MirrorMaker may copy a record again.
        stage.wait_until("all is copied", lambda: self._copied(green) >= stage.producer.numbers())
        mirror.stop()

        here, there = (cluster.end_offsets("payments")[0] for cluster in (blue, green))
        stage.event(f"blue is killed, and its id leads to green: the record at {here} would be at {there} there")
        blue.kill()
        self._kafka = "green"
        self._write_streams(green)
        stage.producer.resume(green)
        self._count_more()

        stage.event("the producer stops; the query reads the remaining payments")
        stage.producer.stop()
        self._count_all()
        stage.query.stop()

    def verdict(self) -> tuple[Verdict[tuple[int, int]], str]:
        """Compare the payments of the totals with those that were produced; the result and its line."""
        counted = self._totals()
        produced = [json.loads(value(order.sequence)) for order in self._stage.producer.acknowledged]
        verdict = compare([(payment["id"], payment["amount"]) for payment in produced], counted.payments)
        again = f"{counted.repeated} read again and counted once"
        return verdict, f"totals after a migration and a replacement: {verdict}; {again}, amount {counted.amount}"

    def view(self) -> View:
        """The current state for the screen."""
        query, counted, producer = self._stage.query, self._totals(), self._stage.producer
        row = Row(
            cluster="blue",
            broker=self._kafka,
            metadata="active",
            query=query.states().get("blue", "-"),
            produced=producer.counts.total(),
            read=len(counted.payments),
            amount=counted.amount,
        )
        return View([row], "driver: not running" if query.pid is None else f"driver: pid {query.pid}")

    def _query(self, program: str) -> Query:
        return Query(self._folder / program, self._streams, self._folder, program=program)

    def _write_streams(self, cluster: Cluster) -> None:
        document = {
            "version": 1,
            "clusters": {"blue": {"properties": {"bootstrap.servers": cluster.bootstrap_servers}}},
            "streams": {"payments": {"clusters": {"blue": {"topics": ["payments"]}}}},
        }
        self._streams.write_text(yaml.safe_dump(document, sort_keys=False))

    def _migrate(self) -> None:
        old, new = (self._folder / program / "checkpoint" for program in ("before", "after"))
        command = ["migrate", str(old), "--to", str(new), "--cluster", "blue"]
        subprocess.run([sys.executable, "-m", "dynamic_kafka", *command], check=True, stdout=subprocess.DEVNULL)

    @staticmethod
    def _copied(cluster: Cluster) -> set[int]:
        return {json.loads(record.value)["id"] for record in cluster.dump("payments") if record.value is not None}

    def _totals(self) -> totals.Totals:
        """Read the totals again if the file has changed."""
        file = self._folder / "totals.json"
        version = file.stat().st_mtime_ns if file.exists() else 0
        if version != self._file[0]:
            self._file = (version, totals.read(self._folder))
        return self._file[1]

    def _count_more(self) -> None:
        """Wait until the payments of some more seconds have been counted."""
        enough = len(self._totals().payments) + self._dwell
        self._stage.wait_until("payments are counted", lambda: len(self._totals().payments) >= enough)

    def _count_all(self) -> None:
        """Wait until all payments are counted, in a batch that has finished."""
        stage = self._stage
        stage.wait_until(
            "all payments are counted", lambda: len(self._totals().payments) >= len(stage.producer.acknowledged)
        )
        reports = stage.query.reports
        # Reported after its batch is committed. The one after it found nothing to read.
        stage.wait_until("the query is idle", lambda: stage.query.reports > reports and stage.query.found_nothing)
