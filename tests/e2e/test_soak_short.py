"""A short soak test; DYNAMIC_KAFKA_SEED=random selects another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.scene import Scene
from tests.harness.seed import FIXED, seed
from tests.soak.plan import Layout, first_events, plan
from tests.soak.run import soak
from tests.soak.sink_world import SinkWorld

EVENTS = 22
SINK_EVENTS = 8


@pytest.mark.test_all
def test_a_soak(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), EVENTS, tmp_path / "soak", scene.brokers, scene.drivers))


@pytest.mark.test_all
def test_a_soak_of_a_query_that_writes(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), SINK_EVENTS, tmp_path / "soak", scene.brokers, scene.drivers, world_of=SinkWorld))


def test_a_seed_determines_the_plan() -> None:
    assert list(plan(7, 200)) == list(plan(7, 200))
    assert list(plan(7, 200)) != list(plan(8, 200))
    assert {event.kind for event in plan(7, 200)} >= {
        "kill_driver",
        "start_driver",
        "move_cluster",
        "drain_cluster",
    }


@pytest.mark.parametrize(("count", "writes"), [(EVENTS, False), (SINK_EVENTS, True)])
def test_clusters_move_while_the_driver_is_dead(count: int, writes: bool) -> None:
    assert _moves_while_dead(FIXED, count, writes)
    assert sum(_moves_while_dead(number, 200, writes) for number in range(10)) > 20


def _moves_while_dead(number: int, count: int, writes: bool) -> int:
    """The number of moves in a plan; no cluster moves that is not in the metadata at the next start."""
    layout, dead, found = Layout(), False, 0
    moved: set[str] = set()
    for event in [*first_events(), *plan(number, count, writes)]:
        match event.kind:
            case "kill_driver":
                dead, moved = True, set()
            case "move_cluster" if dead:
                moved.add(event.cluster)
                found += 1
            case "start_driver":
                dead = False
                assert all(layout.state[name] and layout.named(name) for name in moved)
        layout.apply(event)
    return found
