"""A short soak: the same one in each `make test`, another one in each `make test-all`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.scene import Scene
from tests.harness.seed import seed
from tests.soak.plan import plan
from tests.soak.run import soak
from tests.soak.sink_world import SinkWorld

EVENTS = 22
SINK_EVENTS = 8


def test_a_soak(scene: Scene, tmp_path: Path) -> None:
    result = soak(seed(), EVENTS, tmp_path / "soak", scene.brokers, scene.drivers)
    print(result)


@pytest.mark.test_all
def test_a_soak_of_a_query_that_writes(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), SINK_EVENTS, tmp_path / "soak", scene.brokers, scene.drivers, world_of=SinkWorld))


def test_a_seed_is_a_plan() -> None:
    assert list(plan(7, 200)) == list(plan(7, 200))
    assert list(plan(7, 200)) != list(plan(8, 200))
    assert {event.kind for event in plan(7, 200)} >= {
        "kill_driver",
        "start_driver",
        "move_cluster",
        "drain_cluster",
    }
