"""Faults of one broker of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Node

ELECTION_S = 120.0
Flows = Callable[[], object]


class NodeFaults:
    """Each method returns when all brokers are in sync again. `flows` waits for a sign of life of the query."""

    def __init__(self) -> None:
        self.elections: Counter[str] = Counter()

    def kill_leader(self, cluster: Cluster, topic: str, flows: Flows) -> None:
        """Kill the leader of partition 0, and restart it when the query has finished a batch without it."""
        self._without_leader(cluster, topic, flows, lambda node: node.kill(), lambda node: node.restart())

    def freeze_leader(self, cluster: Cluster, topic: str, flows: Flows) -> None:
        """Freeze the leader, which keeps its connections, and thaw it when a batch has been finished without it."""
        self._without_leader(cluster, topic, flows, lambda node: node.freeze(), lambda node: node.thaw())

    def restart_leader(self, cluster: Cluster, topic: str) -> None:
        """Shut the leader down, which hands its partitions over, and start it again."""
        self._leader(cluster, topic).restart()

    def kill_controller(self, cluster: Cluster, flows: Flows) -> None:
        """Kill the active controller, which is a broker too."""
        active = cluster.node(cluster.controller())
        active.kill()
        try:
            assert cluster.controller() != active.id
            self.elections["controller"] += 1
            flows()
        finally:
            active.restart()

    def roll(self, cluster: Cluster) -> None:
        """Restart all brokers, one after the other."""
        for node in cluster.nodes:
            node.restart()

    def _leader(self, cluster: Cluster, topic: str) -> Node:
        found = until(f"a leader of {topic}", lambda: cluster.leader(topic, 0), ELECTION_S)
        assert found is not None
        return cluster.node(found)

    def _without_leader(
        self,
        cluster: Cluster,
        topic: str,
        flows: Flows,
        begin: Callable[[Node], object],
        end: Callable[[Node], object],
    ) -> None:
        leader = self._leader(cluster, topic)
        begin(leader)
        try:
            until(
                f"another leader of {topic}", lambda: cluster.leader(topic, 0) not in (None, leader.id), ELECTION_S
            )
            self.elections["leader"] += 1
            flows()
        finally:
            end(leader)
