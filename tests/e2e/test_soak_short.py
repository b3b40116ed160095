"""A short soak test; DYNAMIC_KAFKA_SEED=random selects another one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.harness.checker import Seen
from tests.harness.scene import Scene
from tests.harness.seed import FIXED, seed
from tests.soak.at_least_once import compare
from tests.soak.layout import CLUSTERS, OF_NODES, OUTLASTS, STEPS, Event, Layout
from tests.soak.plan import NOTHING_LOST, Scope, first_events, last_events, plan
from tests.soak.run import Length, soak
from tests.soak.sink_world import SinkWorld
from tests.soak.timeouts import check_reached

EVENTS = 22
SINK_EVENTS = 8
LOSSES = Scope(losses=True)
WRITES = Scope(writes=True)
STATE = Scope(writes=True, state=True)


@pytest.mark.test_all
def test_a_soak(scene: Scene, tmp_path: Path) -> None:
    print(soak(seed(), Length(EVENTS), tmp_path / "soak", scene.brokers, scene.drivers, scope=LOSSES))


@pytest.mark.test_all
@pytest.mark.parametrize("scope", [WRITES, STATE], ids=["in-order", "with-state"])
def test_a_soak_of_a_query_that_writes(scene: Scene, tmp_path: Path, scope: Scope) -> None:
    print(soak(seed(), Length(SINK_EVENTS), tmp_path / "soak", scene.brokers, scene.drivers, scope=scope))


@pytest.mark.test_all
def test_transactions_that_reach_their_time_limit(scene: Scene, tmp_path: Path) -> None:
    """Each way in which it happens in a soak."""
    brokers = {name: scene.brokers[name] for name in CLUSTERS}
    world = SinkWorld(tmp_path / "soak", brokers, scene.drivers)
    try:
        with world.watched():
            with world.load:
                for event in [*first_events(), Event("start_driver"), *_outlasts()]:
                    print(event)
                    world.happen(event)
                for event in last_events([]):
                    world.happen(event)
            world.await_exact()
    finally:
        world.close()
    assert len(world.timeouts.reached) == len(_outlasts())
    print(world.summary())


def test_time_limits_are_reached_only_where_they_may_and_while_the_driver_runs() -> None:
    assert not set(OUTLASTS) & {event.kind for event in plan(7, 300, WRITES)}
    events = list(plan(7, 300, Scope(writes=True, timeouts=True)))
    assert {(e.kind, e.step) for e in events if e.step} == {(e.kind, e.step) for e in _outlasts()}
    dead = False
    for event in events:
        assert not (dead and event.kind in OUTLASTS)
        dead = event.kind != "start_driver" and (dead or event.kind == "kill_driver")


def test_a_long_soak_has_to_reach_a_time_limit() -> None:
    check_reached(60, {"decided, driver dead": 1})
    check_reached(3, {})
    check_reached(None, {})
    with pytest.raises(AssertionError, match="no transaction has reached its time limit in 60 minutes"):
        check_reached(60, {"decided, driver dead": 0})


def _outlasts() -> list[Event]:
    return [Event(kind, step=step) for kind in OUTLASTS for step in STEPS]


PRODUCED = [Seen("blue", "orders", 0, offset, f"blue-{offset}") for offset in range(4)]
# Two records are in a finished batch.
FINISHED = {"clusters": {"blue": {"orders": {"0": 2}}}}


def test_what_later_runs_repeat_of_unfinished_batches_is_no_anomaly() -> None:
    written = {"blue-0": 1, "blue-1": 1, "blue-2": 2, "blue-3": 3}
    result = compare(PRODUCED, written, [{}, FINISHED, FINISHED])
    assert (result.anomalies, result.repeated) == ([], 3)


@pytest.mark.parametrize(
    ("written", "starts", "anomaly"),
    [
        ({"blue-0": 1, "blue-1": 1, "blue-3": 1}, [{}], "1 lost"),
        ({"blue-0": 1, "blue-1": 1, "blue-2": 1}, [{}], "1 unseen"),
        # Duplicates without another run, of a finished batch, and more often than there were runs.
        ({"blue-0": 1, "blue-1": 1, "blue-2": 2, "blue-3": 1}, [{}], "1 duplicate"),
        ({"blue-0": 1, "blue-1": 2, "blue-2": 1, "blue-3": 1}, [{}, FINISHED], "1 duplicate"),
        ({"blue-0": 1, "blue-1": 1, "blue-2": 3, "blue-3": 1}, [{}, FINISHED], "1 duplicate"),
        # A duplicate of a cluster that has left the metadata.
        (
            {"blue-0": 1, "blue-1": 2, "blue-2": 1, "blue-3": 1},
            [{}, {"retained": {"blue": {"topics": {"orders": {"offsets": {"0": 2}}}}}}],
            "1 duplicate",
        ),
        ({"blue-0": 1, "blue-1": 1, "blue-2": 1, "blue-3": 1, "blue-9": 1}, [{}], "1 unexpected"),
    ],
)
def test_anomalies_of_a_query_that_writes_at_least_once(
    written: dict[str, int], starts: list[dict[str, Any]], anomaly: str
) -> None:
    (found,) = compare(PRODUCED, written, starts).anomalies
    assert found.startswith(anomaly)


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
