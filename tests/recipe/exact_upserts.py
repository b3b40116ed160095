"""The recipe of docs/change-data.md on real brokers: `make extra NAME=recipe`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.seed import seed
from tests.harness.waiting import until
from tests.recipe.database import Database, Row

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

ROOT = Path(__file__).resolve().parents[2]


class Recipe:
    """The driver, its metadata, and what it has done."""

    def __init__(self, folder: Path, topic: str, brokers: dict[str, Cluster]) -> None:
        self._folder = folder
        self._topic = topic
        self._brokers = brokers

    def define(self, **states: str) -> None:
        """The clusters of the stream, with their states."""
        addresses = {n: {"bootstrap.servers": self._brokers[n].bootstrap_servers} for n in states}
        document = {
            "version": 1,
            "clusters": {n: {"properties": of} for n, of in addresses.items()},
            "streams": {
                "customers": {"clusters": {n: {"topics": [self._topic], "state": s} for n, s in states.items()}}
            },
        }
        new = self._folder / "streams.new"
        new.write_text(json.dumps(document))
        new.rename(self._folder / "streams.json")

    def start(self, *fatal: str) -> subprocess.Popen[bytes]:
        """Start the driver in a process group of its own."""
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.recipe.driver", str(self._folder), *fatal],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, driver: subprocess.Popen[bytes]) -> None:
        """Python and the JVM, in the middle of whatever they do."""
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()

    def batches(self, name: str) -> list[int]:
        """The batches that the driver has begun, or applied."""
        path = self._folder / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def log(self) -> str:
        """The end of the driver's log."""
        return (self._folder / "log").read_text()[-6000:]

    def rows(self) -> list[Row]:
        """The table at the end."""
        return [json.loads(line) for part in (self._folder / "rows").glob("*.json") for line in part.open()]


def test_upserts_are_exact_through_topology_changes_and_killed_drivers(
    brokers: dict[str, Cluster], tmp_path: Path
) -> None:
    topic = f"customers-{uuid.uuid4().hex[:8]}"
    blue, green = brokers["blue"], brokers["green"]
    for cluster in (blue, green):
        cluster.create_topic(topic, 2)
    database = Database(topic, random.Random(seed()))
    recipe = Recipe(tmp_path, topic, brokers)
    recipe.define(blue="active")
    # The changes on green are read later than newer ones on blue.
    database.work(80, blue, green)
    driver = recipe.start("3")
    try:
        assert driver.wait(300) == -signal.SIGKILL, recipe.log()
    finally:
        recipe.kill(driver)
    assert recipe.batches("applied") == [0, 1, 2, 3]

    recipe.define(blue="active", green="active")
    database.work(30, blue, green)
    driver = recipe.start()
    try:
        # The batch that was applied is applied again.
        until("the repeated batch", lambda: driver.poll() is not None or recipe.batches("applied").count(3) == 2)
        begun = len(recipe.batches("begun"))
        until("further batches", lambda: driver.poll() is not None or len(recipe.batches("begun")) > begun + 4)
        assert driver.poll() is None, recipe.log()
    finally:
        recipe.kill(driver)
    killed = len(recipe.batches("applied"))

    # The connector moves to green, and blue is read to its end.
    recipe.define(blue="draining", green="active")
    database.work(30, green)
    driver = recipe.start()
    try:
        until("batches", lambda: driver.poll() is not None or len(recipe.batches("applied")) > killed + 3)
        database.work(20, green)
        (tmp_path / "end").touch()
        assert driver.wait(300) == 0, recipe.log()
    finally:
        recipe.kill(driver)
    found = [{"id": row["id"], "name": row.get("name"), "credit": row["credit"]} for row in recipe.rows()]
    assert sorted(found, key=lambda row: row["id"]) == [database.rows[key] for key in sorted(database.rows)]
