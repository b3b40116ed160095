"""A short soak, another one each time."""

from __future__ import annotations

import random
from pathlib import Path

from tests.harness.scene import Scene
from tests.soak.plan import plan
from tests.soak.run import soak

EVENTS = 22


def test_a_soak(scene: Scene, tmp_path: Path) -> None:
    result = soak(random.randrange(1_000_000), EVENTS, tmp_path / "soak", scene.brokers, scene.drivers)
    assert result.records > 0
    print(result)


def test_a_seed_is_a_plan() -> None:
    assert list(plan(7, 200)) == list(plan(7, 200))
    assert list(plan(7, 200)) != list(plan(8, 200))
    assert {event.kind for event in plan(7, 200)} >= {
        "kill_driver",
        "start_driver",
        "move_cluster",
        "drain_cluster",
    }
