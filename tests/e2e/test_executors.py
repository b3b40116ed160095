"""The partitions of each cluster are spread over executors, and keep their executor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.scene import Scene
from tests.harness.where import EXECUTORS, RECORDS_PER_BATCH

ROOT = Path(__file__).resolve().parents[2]
CLUSTERS = ("blue", "green", "red")
RECORDS = 40


@pytest.mark.test_all
@pytest.mark.timeout(600)
def test_the_partitions_of_each_cluster_are_on_different_executors(scene: Scene) -> None:
    _, streams = scene.filled("orders", *CLUSTERS, records=RECORDS)
    log = scene.folder / "executors.log"
    with log.open("w") as errors:
        ran = subprocess.run(
            [sys.executable, "-m", "tests.harness.where", streams.path],
            cwd=ROOT,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, log.read_text()[-5000:]
    batch, *batches = json.loads(ran.stdout.splitlines()[-1])

    whole = {(cluster, partition): RECORDS // 2 for cluster in CLUSTERS for partition in (0, 1)}
    assert len(batches) == len(CLUSTERS) * RECORDS // RECORDS_PER_BATCH
    for name, reads in (("batch", [batch]), ("streaming", batches)):
        records: dict[tuple[str, int], int] = {}
        for places in reads:
            executors = {(cluster, partition): executor for executor, cluster, partition, _ in places}
            assert len(set(executors.values())) == EXECUTORS, (name, places)
            # As many consecutive partitions as there are executors; clusters do not depend on each other.
            for cluster in CLUSTERS:
                assert executors[cluster, 0] != executors[cluster, 1], (name, places)
            for _, cluster, partition, count in places:
                records[cluster, partition] = records.get((cluster, partition), 0) + count
        assert records == whole, name
    # In each batch a partition is assigned to the executor that has its consumer.
    assert len({tuple(tuple(place[:3]) for place in places) for places in batches}) == 1, batches
