"""A short soak test; DYNAMIC_KAFKA_SEED=random selects another one."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.harness.scene import Scene
from tests.harness.seed import FIXED, seed
from tests.soak.layout import OF_NODES, Layout
from tests.soak.plan import NOTHING_LOST, Scope, first_events, plan
from tests.soak.run import Length, soak

EVENTS = 22
SINK_EVENTS = 8
LOSSES = Scope(losses=True)
WRITES = Scope(writes=True)


@pytest.mark.test_all
def test_a_soak(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), Length(EVENTS), tmp_path / "soak", scene.brokers, scene.drivers, scope=LOSSES))


@pytest.mark.test_all
def test_a_soak_of_a_query_that_writes(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), Length(SINK_EVENTS), tmp_path / "soak", scene.brokers, scene.drivers, scope=WRITES))


def test_a_seed_determines_the_plan() -> None:
    assert list(plan(7, 200)) == list(plan(7, 200))
    assert list(plan(7, 200)) != list(plan(8, 200))
    assert {event.kind for event in plan(7, 200)} >= {
        "kill_driver",
        "start_driver",
        "move_cluster",
        "drain_cluster",
    }


def test_a_plan_has_no_end_if_it_has_no_count() -> None:
    assert list(itertools.islice(plan(7, None), 50)) == list(plan(7, 200))[:50]


def test_losses_and_faults_of_single_brokers_happen_only_where_they_may() -> None:
    losses, nodes = {"cut_topic", "recreate_topic"}, set(OF_NODES)

    def kinds(scope: Scope) -> set[str]:
        return {event.kind for event in plan(7, 300, scope)}

    assert not kinds(NOTHING_LOST) & (losses | nodes)
    assert kinds(LOSSES) & (losses | nodes) == losses
    assert kinds(Scope(losses=True, several=True)) >= losses | nodes


@pytest.mark.parametrize(("count", "scope"), [(EVENTS, LOSSES), (SINK_EVENTS, WRITES)])
def test_clusters_move_while_the_driver_is_dead(count: int, scope: Scope) -> None:
    assert _moves_while_dead(FIXED, count, scope)
    assert sum(_moves_while_dead(number, 200, scope) for number in range(10)) > 20


def _moves_while_dead(number: int, count: int, scope: Scope) -> int:
    """The number of moves in a plan; no cluster moves that is not in the metadata at the next start."""
    layout, dead, found = Layout(), False, 0
    moved: set[str] = set()
    for event in [*first_events(), *plan(number, count, scope)]:
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
