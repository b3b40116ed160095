"""The events of a soak: a pure function of the seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

CLUSTERS = ("blue", "green", "red")
MOST_TOPICS = 3
MOST_PARTITIONS = 4
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


@dataclass(frozen=True)
class Event:
    """An event of the plan.

    Args:
        kind: One of `WEIGHTS` or `WRITE_WEIGHTS`, or `start_driver`.
        cluster: The cluster, if the event has one.
        topic: The number of the topic, if the event has one.
        settles: Whether to wait for its effect before the next event.
    """

    kind: str
    cluster: str = ""
    topic: int = -1
    settles: bool = True

    def __str__(self) -> str:
        """The text for the log of a run."""
        topic = f" topic {self.topic}" if self.topic >= 0 else ""
        return f"{self.kind} {self.cluster}{topic}{'' if self.settles else ', without a wait'}"


@dataclass
class Layout:
    """The metadata at a point of the plan.

    Args:
        state: `active`, `draining`, or `` for a cluster that is not in the metadata.
        topics: By cluster, whether each topic is in the metadata.
        partitions: The number of partitions, by cluster and topic.
        writable: By cluster, whether the output stream can be written there.
    """

    state: dict[str, str] = field(default_factory=lambda: {name: "" for name in CLUSTERS})
    topics: dict[str, list[bool]] = field(default_factory=lambda: {name: [] for name in CLUSTERS})
    partitions: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in CLUSTERS})
    writable: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(CLUSTERS, True))

    def apply(self, event: Event) -> None:
        """Apply an event; events that do not change the metadata have no effect."""
        cluster, topic = event.cluster, event.topic
        match event.kind:
            case "add_topic":
                self.topics[cluster].append(True)
                self.partitions[cluster].append(2)
            case "remove_topic":
                self.topics[cluster][topic] = False
            case "return_topic":
                self.topics[cluster][topic] = True
            case "add_partition":
                self.partitions[cluster][topic] += 1
            case "add_cluster":
                self.state[cluster] = "active"
            case "remove_cluster":
                self.state[cluster] = ""
            case "drain_cluster":
                self.state[cluster] = "draining"
            case "close_target" | "open_target":
                self.writable[cluster] = event.kind == "open_target"

    def named(self, cluster: str) -> list[int]:
        """The topics of a cluster that are in the metadata."""
        return [number for number, is_named in enumerate(self.topics[cluster]) if is_named]

    def active(self) -> list[str]:
        """The active clusters."""
        return [name for name in CLUSTERS if self.state[name] == "active" and self.named(name)]

    def possible(self) -> dict[str, list[Event]]:
        """The possible next events, by kind; one active cluster always remains."""
        found: dict[str, list[Event]] = {kind: [] for kind in WEIGHTS | WRITE_WEIGHTS}
        found["kill_driver"].append(Event("kill_driver"))
        for name in CLUSTERS:
            topics = self.topics[name]
            others = [other for other in self.active() if other != name]
            if len(topics) < MOST_TOPICS:
                found["add_topic"].append(Event("add_topic", name, len(topics)))
            for number, is_named in enumerate(topics):
                if not is_named:
                    found["return_topic"].append(Event("return_topic", name, number))
                elif others and len(self.named(name)) > 1:
                    found["remove_topic"].append(Event("remove_topic", name, number))
                if self.partitions[name][number] < MOST_PARTITIONS:
                    found["add_partition"].append(Event("add_partition", name, number))
            if self.state[name] != "active" and self.named(name):
                found["add_cluster"].append(Event("add_cluster", name))
            if self.state[name] and others:
                found["remove_cluster"].append(Event("remove_cluster", name))
            if self.state[name] == "active" and others:
                found["drain_cluster"].append(Event("drain_cluster", name))
            found["move_cluster"].append(Event("move_cluster", name))
            found["restart_broker"].append(Event("restart_broker", name))
            found["freeze_broker"].append(Event("freeze_broker", name))
            if not self.writable[name]:
                found["open_target"].append(Event("open_target", name))
            elif sum(self.writable.values()) > 1:
                found["close_target"].append(Event("close_target", name))
        return {kind: events for kind, events in found.items() if events}


def first_events() -> list[Event]:
    """The events before every plan: a topic on each cluster, and one cluster in the metadata."""
    return [Event("add_topic", name, 0) for name in CLUSTERS] + [Event("add_cluster", CLUSTERS[0])]


def plan(seed: int, count: int, writes: bool = False) -> Iterator[Event]:
    """Yield `count` events, and one that starts the driver if it is dead at the end.

    Args:
        seed: Equal seeds yield equal plans.
        count: The number of events.
        writes: Whether the query writes.
    """
    dice = random.Random(seed)
    weights = WEIGHTS | WRITE_WEIGHTS if writes else WEIGHTS
    layout = Layout()
    for event in first_events():
        layout.apply(event)
    dead_for = -1
    moved: set[str] = set()
    for _ in range(count):
        if dead_for == 0:
            event = Event("start_driver")
        else:
            possible = layout.possible()
            if dead_for > 0:
                possible = _while_dead(possible, layout, moved)
            kinds = sorted(possible.keys() & weights.keys())
            frequent = weights | WEIGHTS_WHILE_DEAD if dead_for > 0 else weights
            kind = dice.choices(kinds, [frequent[k] for k in kinds])[0]
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
