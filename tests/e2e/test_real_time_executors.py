"""Real-time mode with executors that are processes of their own, one of which is killed."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.harness.metadata import MetadataFile
from tests.harness.real_time_query import RealTimeQuery
from tests.harness.scene import Scene
from tests.harness.standalone import COMPLETE, standalone
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

RECORDS = 40


@pytest.mark.test_all
def test_changes_reach_tasks_on_executors_and_nothing_is_lost_with_one_of_them(scene: Scene) -> None:
    copies = Copies(scene)
    with standalone(scene.folder / "spark") as spark:
        driver = spark.driver(scene.drivers, COMPLETE)
        query = copies.query
        query.start(driver)
        copies.await_all("blue")
        # One task on each executor: the change has to reach both.
        assert len(spark.executors()) == 2
        batches = len(query.checkpoint.committed())
        copies.add("green")
        copies.await_all("blue", "green")
        assert len(query.checkpoint.committed()) > batches
        assert copies.repeated() == 0

        os.kill(min(spark.executors()), signal.SIGKILL)
        copies.produce("blue", "green")
        until("the batch that lost a task", lambda: copies.all_written("blue", "green") or query.terminated())
        if query.terminated():
            query.start(driver)
        copies.await_all("blue", "green")
        query.end()
    assert copies.all_written("blue", "green")


class Copies:
    """A query that copies a stream of some of the clusters to `blue`."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._topic = scene.topic("blue", "green")
        self._out = scene.topic("blue")
        self._metadata = scene.metadata("orders", "blue", topic=self._topic)
        target = MetadataFile(scene.folder / "out.json")
        target.cluster("blue", scene.brokers["blue"].bootstrap_servers).set_entry("out", "blue", [self._out])
        # Not by the scene, which compares the rows of queries that do not write.
        self.query = RealTimeQuery(
            f"copies-{self._out}",
            scene.folder / "copies",
            self._metadata.path,
            ["orders"],
            {"realTimeTasks": "2"},
            trigger={"realTime": "5 minutes"},
            target=target.write().path,
        )
        self.produce("blue")

    def produce(self, *clusters: str) -> None:
        """Produce more records to these clusters."""
        for cluster in clusters:
            self._scene.produce(cluster, self._topic, RECORDS)

    def add(self, cluster: str) -> None:
        """Add a cluster that has records to the stream."""
        self.produce(cluster)
        self._metadata.set_entry("orders", cluster, [self._topic]).write()

    def await_all(self, *clusters: str) -> None:
        """Wait until all records of these clusters are written."""

        def look() -> bool:
            self.query.alive()
            return self.all_written(*clusters)

        until(f"all records of {clusters}", look)

    def all_written(self, *clusters: str) -> bool:
        """Whether each record of these clusters is written."""
        stored = [record.value for name in clusters for record in self._broker(name).dump(self._topic)]
        return set(stored) <= self._written().keys()

    def repeated(self) -> int:
        """The number of records that were written again."""
        written = self._written()
        return written.total() - len(written)

    def _written(self) -> Counter[str | None]:
        return Counter(record.value for record in self._broker("blue").dump(self._out, committed_only=True))

    def _broker(self, name: str) -> Cluster:
        return self._scene.brokers[name]
