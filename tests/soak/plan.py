"""The events of a soak: a pure function of the seed."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .layout import CLUSTERS, Event, Layout

# While the driver is dead, at most this many events happen.
LONGEST_DEATH = 2

WEIGHTS = {
    "add_topic": 4,
    "remove_topic": 3,
    "return_topic": 5,
    "add_cluster": 6,
    "remove_cluster": 4,
    "drain_cluster": 3,
    "add_partition": 2,
    "move_cluster": 1,
    "restart_broker": 2,
    "freeze_broker": 2,
    "kill_driver": 2,
}
# While the driver is dead, for a few events only.
WEIGHTS_WHILE_DEAD = {"move_cluster": 10}
# For queries that write: whether a cluster takes writes.
WRITE_WEIGHTS = {"close_target": 3, "open_target": 4}
# Transactions of the query reach their time limit.
TIMEOUT_WEIGHTS = {"outlast_frozen": 2, "outlast_dead": 2}
# Kafka deletes records that the query may not have read yet, or a topic, which is created again.
LOSS_WEIGHTS = {"cut_topic": 3, "recreate_topic": 3}
LOSS_WEIGHTS_WHILE_DEAD = {"cut_topic": 4, "recreate_topic": 4}
# One broker of a cluster with several.
NODE_WEIGHTS = {"kill_leader": 3, "freeze_leader": 3, "restart_leader": 2, "kill_controller": 2, "roll_nodes": 1}


@dataclass(frozen=True)
class Scope:
    """What may happen in a soak.

    Args:
        writes: Whether the query writes.
        losses: Whether Kafka deletes records and topics.
        several: Whether one cluster, `layout.SEVERAL`, has several brokers.
        timeouts: Whether transactions of a query that writes reach their time limit.
        state: Whether a query that writes has a state, and no order of keys.
        real_time: Whether the query runs in real-time mode, and writes at least once.
    """

    writes: bool = False
    losses: bool = False
    several: bool = False
    timeouts: bool = False
    state: bool = False
    real_time: bool = False

    def weights(self, dead: bool) -> dict[str, int]:
        """How frequent each kind of event is, relative to others."""
        found = dict(WEIGHTS)
        for condition, weights, while_dead in (
            (True, {}, WEIGHTS_WHILE_DEAD),
            (self.writes, WRITE_WEIGHTS, {}),
            (self.losses, LOSS_WEIGHTS, LOSS_WEIGHTS_WHILE_DEAD),
            (self.several, NODE_WEIGHTS, {}),
            (self.timeouts and not dead, TIMEOUT_WEIGHTS, {}),
        ):
            if condition:
                found |= weights | (while_dead if dead else {})
        return found


NOTHING_LOST = Scope()


def first_events() -> list[Event]:
    """The events before every plan: a topic on each cluster, and one cluster in the metadata."""
    return [Event("add_topic", name, 0) for name in CLUSTERS] + [Event("add_cluster", CLUSTERS[0])]


def plan(seed: int, count: int | None, scope: Scope = NOTHING_LOST) -> Iterator[Event]:
    """Yield `count` events, and one that starts the driver if it is dead at the end.

    Args:
        seed: Equal seeds yield equal plans.
        count: The number of events; None for a plan without an end.
        scope: What may happen.
    """
    dice = random.Random(seed)
    layout = Layout()
    for event in first_events():
        layout.apply(event)
    dead_for = -1
    moved: set[str] = set()
    for _ in range(count) if count is not None else itertools.count():
        if dead_for == 0:
            event = Event("start_driver")
        else:
            possible = layout.possible()
            if dead_for > 0:
                possible = _while_dead(possible, layout, moved)
            weights = scope.weights(dead=dead_for > 0)
            kinds = sorted(possible.keys() & weights.keys())
            kind = dice.choices(kinds, [weights[k] for k in kinds])[0]
            event = replace(dice.choice(possible[kind]), settles=dice.random() < 0.5)
        layout.apply(event)
        yield event
        if event.kind == "kill_driver":
            dead_for, moved = dice.randint(0, LONGEST_DEATH), set()
        elif dead_for >= 0:
            dead_for -= 1
            if event.kind == "move_cluster":
                moved.add(event.cluster)
    if dead_for >= 0:
        yield Event("start_driver")


def _while_dead(possible: dict[str, list[Event]], layout: Layout, moved: set[str]) -> dict[str, list[Event]]:
    """The possible events while the query is not running.

    After the start the query reads its logged batch from the addresses in the metadata. Therefore a cluster that is not
    in the metadata does not move, and one that has moved stays in the metadata until the start.
    """
    found = {kind: events for kind, events in possible.items() if kind != "kill_driver"}
    found["move_cluster"] = [
        e for e in possible["move_cluster"] if layout.state[e.cluster] and layout.named(e.cluster)
    ]
    found["remove_cluster"] = [e for e in possible.get("remove_cluster", []) if e.cluster not in moved]
    return {kind: events for kind, events in found.items() if events}


def last_events(events: list[Event]) -> list[Event]:
    """The events that make everything active that ever existed."""
    layout = Layout()
    for event in [*first_events(), *events]:
        layout.apply(event)
    topics = [
        Event("return_topic", name, number)
        for name in CLUSTERS
        for number, is_named in enumerate(layout.topics[name])
        if not is_named
    ]
    return topics + [Event("add_cluster", name) for name in CLUSTERS if layout.state[name] != "active"]
