"""The environment of a soak at a point of its plan, and the events that can change it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

CLUSTERS = ("blue", "green", "red")
# The cluster with several brokers, if there is one: the one that is in the metadata from the beginning.
SEVERAL = CLUSTERS[0]
MOST_TOPICS = 3
MOST_PARTITIONS = 4
OF_ANY_CLUSTER = ("move_cluster", "restart_broker", "freeze_broker")
OF_ANY_TOPIC = ("cut_topic", "recreate_topic")
# Transactions that stay open for longer than their time limit, and the steps of the batch at which that happens.
OUTLASTS = ("outlast_frozen", "outlast_dead")
STEPS = ("writing", "before-decision", "decided")
# One broker of several.
OF_NODES = ("kill_leader", "freeze_leader", "restart_leader", "kill_controller", "roll_nodes")


@dataclass(frozen=True)
class Event:
    """An event of the plan.

    Args:
        kind: One of those of `Scope.weights`, or `start_driver`.
        cluster: The cluster, if the event has one.
        topic: The number of the topic, if the event has one.
        settles: Whether to wait for its effect before the next event.
        step: The step of a batch, if it happens at one.
    """

    kind: str
    cluster: str = ""
    topic: int = -1
    settles: bool = True
    step: str = ""

    def __str__(self) -> str:
        """The text for the log of a run."""
        topic = f" topic {self.topic}" if self.topic >= 0 else ""
        return f"{self.kind} {self.cluster}{self.step}{topic}{'' if self.settles else ', without a wait'}"


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
        found: dict[str, list[Event]] = defaultdict(list)
        found["kill_driver"].append(Event("kill_driver"))
        for kind in OUTLASTS:
            found[kind] += [Event(kind, step=step) for step in STEPS]
        for name in CLUSTERS:
            topics = self.topics[name]
            others = [other for other in self.active() if other != name]
            if len(topics) < MOST_TOPICS:
                found["add_topic"].append(Event("add_topic", name, len(topics)))
            for number, is_named in enumerate(topics):
                for kind in OF_ANY_TOPIC:
                    found[kind].append(Event(kind, name, number))
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
            for kind in OF_ANY_CLUSTER:
                found[kind].append(Event(kind, name))
            if name == SEVERAL:
                for kind in OF_NODES:
                    found[kind].append(Event(kind, name))
            if not self.writable[name]:
                found["open_target"].append(Event("open_target", name))
            elif sum(self.writable.values()) > 1:
                found["close_target"].append(Event("close_target", name))
        return {kind: events for kind, events in found.items() if events}
