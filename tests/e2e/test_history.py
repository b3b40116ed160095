"""A history before Kafka, and drivers that are killed with SIGKILL while they read it."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from tests.harness.scene import Scene

CLUSTERS = ("blue", "green")
FILES = 2
ALIGNED = {"alignment": "timestamp", "alignmentMaxDrift": "10s"}


@pytest.mark.test_all
def test_killed_at_the_start_within_the_files_and_at_the_hand_over(scene: Scene) -> None:
    topic = scene.topic(*CLUSTERS)
    for cluster in CLUSTERS:
        scene.produce(cluster, topic, 12)
    archive = _archive(scene, topic)
    # Kafka still has the records of the files.
    metadata = scene.metadata("orders", *CLUSTERS, topic=topic)
    metadata.history("orders", format="json", path=str(archive)).write()
    for cluster in CLUSTERS:
        scene.produce(cluster, topic, 6)
    faults: dict[str, dict[str, Any]] = {
        "first-open": {"when": "before", "batch": 0},
        "first-done": {"when": "after", "batch": 0},
        "files-done": {"when": "after", "batch": FILES - 1},
        "kafka-open": {"when": "before", "batch": FILES},
        "kafka-done": {"when": "after", "batch": FILES},
        "aligned-files-open": {"when": "before", "batch": FILES - 1},
        "aligned-kafka-open": {"when": "before", "batch": FILES},
    }
    queries = {
        name: scene.query(
            metadata, name, historyFilesPerTrigger="1", **(ALIGNED if name.startswith("aligned") else {})
        )
        for name in faults
    }
    doomed = scene.drivers.doomed()
    for name, query in queries.items():
        query.begin(doomed, fault=faults[name])
    for query in queries.values():
        query.await_event("stuck")
    doomed.kill()

    # The restart finds other files, and metadata without them.
    (archive / "later.json").write_text((archive / "0.json").read_text())
    metadata.history("orders").write()
    scene.produce("blue", topic, 4)
    for name, query in queries.items():
        batch = faults[name]["batch"]
        assert query.checkpoint.unfinished() == [batch]
        logged = query.checkpoint.offsets()[batch]
        assert logged.get("history") == ({"orders": batch + 1} if batch < FILES else None)
        query.begin(scene.drivers.shared())
    for query in queries.values():
        scene.await_exact(query, *((cluster, topic) for cluster in CLUSTERS))
        (again,) = query.sink.replayed()
        first, second = query.sink.tries(again)
        assert first
        assert first == second


def _archive(scene: Scene, topic: str) -> Path:
    """The records of both clusters in files, as Spark writes them in JSON."""
    folder = scene.folder / "archive"
    folder.mkdir()
    for number in range(FILES):
        rows = [
            {
                "value": base64.b64encode(record.value.encode()).decode(),
                "topic": topic,
                "partition": record.partition,
                "offset": record.offset,
                "timestamp": datetime.fromtimestamp(number, timezone.utc).isoformat(),
                "cluster": cluster,
            }
            for cluster in CLUSTERS
            for record in scene.brokers[cluster].dump(topic)
            if record.offset % FILES == number and record.value is not None
        ]
        (folder / f"{number}.json").write_text("\n".join(map(json.dumps, rows)))
    return folder
