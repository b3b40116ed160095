"""The client of one cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any

from ._records import Record, StoredRecord
from ._server import Server


class Node:
    """One broker of a cluster, which is a separate process.

    If there are several, each one is a controller too, and the cluster serves as long as more than half of them run.
    """

    def __init__(self, cluster: Cluster, id: int) -> None:
        self._cluster = cluster
        self._id = id

    @property
    def id(self) -> int:
        """Kafka's `node.id`: 1, 2, ..."""
        return self._id

    @property
    def rack(self) -> str | None:
        """Kafka's `broker.rack`."""
        found = self._cluster.describe_node(self._id)["rack"]
        return None if found is None else str(found)

    @property
    def pid(self) -> int:
        """The id of the current or last process."""
        return int(self._cluster.describe_node(self._id)["pid"])

    def is_alive(self) -> bool:
        """Whether the process exists, even if it is frozen."""
        return bool(self._cluster.describe_node(self._id)["isAlive"])

    def kill(self) -> None:
        """Send SIGKILL: the broker does not shut down gracefully.

        The other nodes notice this when its session expires, after `broker.session.timeout.ms`.
        """
        self._cluster.change("kill", node=self._id)

    def freeze(self) -> None:
        """Send SIGSTOP: the broker keeps its connections but does not respond. Its session expires."""
        self._cluster.change("freeze", node=self._id)

    def thaw(self) -> None:
        """Send SIGCONT: end `freeze`. Return when the broker is in sync, or at once if the cluster does not serve."""
        self._cluster.change("thaw", node=self._id)

    def restart(self) -> None:
        """Restart the broker with the same data and ports.

        A running broker is shut down first, and hands its partitions over to other nodes. Return when the broker is in
        sync, or at once if the cluster does not serve.
        """
        self._cluster.change("restart", node=self._id)

    def __repr__(self) -> str:
        return f"Node({self._cluster.name!r}, {self._id})"


class Cluster:
    """A Kafka cluster with one broker or several, each a separate process.

    Every method returns when its effect is visible to all clients. Methods that send requests fail immediately while
    the broker is down or frozen, or half of several brokers are. They bypass a proxy.
    """

    def __init__(self, server: Server, description: Mapping[str, Any]) -> None:
        self._server = server
        self._name: str = description["name"]
        self._description = description

    @property
    def name(self) -> str:
        """A name for tests; not known to Kafka."""
        return self._name

    @property
    def version(self) -> str:
        return str(self._description["version"])

    @property
    def bootstrap_servers(self) -> str:
        """The bootstrap servers for clients: those of the proxy, if there is one."""
        return str(self._description["bootstrapServers"])

    @property
    def direct_servers(self) -> str:
        """The bootstrap servers of a listener without security that bypasses a proxy."""
        return str(self._description["directServers"])

    @property
    def pid(self) -> int:
        """The id of the current or last process, of the first one if there are several."""
        return int(self._description["pid"])

    @property
    def nodes(self) -> list[Node]:
        """The brokers, by id."""
        return [Node(self, node["id"]) for node in self._description["nodes"]]

    def node(self, id: int) -> Node:
        """Return a broker; ids start with 1."""
        return next(node for node in self.nodes if node.id == id)

    def leader(self, topic: str, partition: int) -> int | None:
        """Return the id of the node that leads a partition, or None if the partition has no leader.

        A node that was killed or frozen leads until its session has expired.
        """
        found = self._call("leader", topic=topic, partition=partition)
        return None if found is None else int(found)

    def in_sync(self, topic: str, partition: int) -> set[int]:
        """Return the ids of the nodes whose replica of a partition is in sync."""
        return set(self._call("inSync", topic=topic, partition=partition))

    def controller(self) -> int:
        """Return the id of the active controller; wait for the election of another one if it was killed or frozen."""
        return int(self._call("controller"))

    def is_alive(self) -> bool:
        """Whether any process exists, even if it is frozen."""
        return bool(self._call("describe")["isAlive"])

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        replicas: Iterable[int] = (),
    ) -> None:
        """Create a topic.

        `replicas` are the ids of the nodes that store each partition; the first one that runs leads them. By default
        Kafka chooses the nodes.
        """
        self._call(
            "createTopic",
            topic=topic,
            partitions=partitions,
            configs=dict(configs or {}),
            replicas=list(replicas),
        )

    def delete_topic(self, topic: str) -> None:
        self._call("deleteTopic", topic=topic)

    def add_partitions(self, topic: str, total: int) -> None:
        """Extend a topic to `total` partitions."""
        self._call("addPartitions", topic=topic, total=total)

    def topics(self) -> set[str]:
        """Return all topics without Kafka's internal ones."""
        return set(self._call("topics"))

    def produce(self, topic: str, records: Iterable[Record]) -> list[tuple[int, int]]:
        """Produce the records in this order; return the partition and offset of each one."""
        sent = [asdict(record) for record in records]
        produced = self._call("produce", topic=topic, records=sent)
        return [(partition, offset) for partition, offset in produced]

    def load(self, topic: str, records: int, record_bytes: int, times: tuple[int, int] | None = None) -> None:
        """Fill a topic as fast as possible, round robin over its partitions.

        Keys are 0, 1, 2, ... in 8 bytes, big endian; values are random. `record_bytes` is the size of key and value.
        Their times are spread evenly over `times`, from the first epoch millisecond to before the second one, or are
        the current ones.
        """
        self._call("load", topic=topic, records=records, recordBytes=record_bytes, times=times)

    def dump(self, topic: str, committed_only: bool = False) -> list[StoredRecord]:
        """Return all records, ordered by partition and offset.

        `committed_only` omits records of open and aborted transactions.
        """
        found = self._call("dump", topic=topic, committedOnly=committed_only)
        return [StoredRecord(**record) for record in found]

    def end_offsets(self, topic: str) -> dict[int, int]:
        """Return the latest offsets by partition."""
        return _by_partition(self._call("endOffsets", topic=topic))

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the earliest offsets by partition."""
        return _by_partition(self._call("beginningOffsets", topic=topic))

    def delete_records(self, topic: str, partition: int, before_offset: int) -> None:
        self._call("deleteRecords", topic=topic, partition=partition, beforeOffset=before_offset)

    def committed_offsets(self, group: str) -> dict[str, dict[int, int]]:
        """Return the offsets that a consumer group has committed, by topic and partition."""
        found = self._call("committedOffsets", group=group)
        return {topic: _by_partition(offsets) for topic, offsets in found.items()}

    def transactions(self) -> dict[str, str]:
        """Return the state of the last transaction of each transactional id, such as `Ongoing` or `CompleteAbort`.

        Needs Kafka 3.0.
        """
        return dict(self._call("transactions"))

    def scram_client(self, user: str, password: str) -> dict[str, str]:
        """Return all properties of a client that authenticates with a password, which may be wrong."""
        return dict(self._call("scramClient", user=user, password=password))

    def tls_client(self, expired: bool = False) -> dict[str, str]:
        """Return all properties of a client with a certificate."""
        return dict(self._call("tlsClient", expired=expired))

    def alter_password(self, user: str, password: str) -> None:
        """Change the password of a user, or create a user. Authenticated connections stay open."""
        self._call("alterPassword", user=user, password=password)

    def add_acl(self, user: str, topic: str, *operations: str) -> None:
        """Allow a user these operations on a topic."""
        self._call("addAcl", user=user, topic=topic, operations=list(operations))

    def kill(self) -> None:
        """Send SIGKILL to all nodes: they do not shut down gracefully."""
        self.change("kill")

    def freeze(self) -> None:
        """Send SIGSTOP to all nodes: they keep their connections but do not respond."""
        self.change("freeze")

    def thaw(self) -> None:
        """Send SIGCONT: end `freeze`."""
        self.change("thaw")

    def restart(self) -> None:
        """Restart all nodes with the same data and ports.

        A running broker is shut down first; if there are several, they are killed.
        """
        self.change("restart")

    def restart_on_new_port(self) -> None:
        """Move the cluster to a new address with the same data. No process listens on the old address afterwards."""
        self.change("restartOnNewPort")

    def pause_network(self) -> None:
        """Stop forwarding and keep the connections open. Requires a proxy, like the next two methods."""
        self._call("pauseNetwork")

    def cut_network(self) -> None:
        """Reset all connections, and each new one, until `resume_network`."""
        self._call("cutNetwork")

    def resume_network(self) -> None:
        """End `pause_network` and `cut_network`."""
        self._call("resumeNetwork")

    def delay_network(self, round_trip_ms: float) -> None:
        """Change how long the answers of the brokers take from now on. Requires a proxy."""
        self._call("delayNetwork", roundTripMs=round_trip_ms)

    def stop(self) -> None:
        """End all brokers and delete their data. The cluster cannot be used again."""
        self._call("stop")

    def __enter__(self) -> Cluster:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Cluster({self.name!r}, {self.bootstrap_servers!r})"

    def change(self, method: str, **params: Any) -> None:
        """Call a method that can change the address or a process; `Node` uses it."""
        self._description = self._call(method, **params)

    def describe_node(self, id: int) -> Mapping[str, Any]:
        """Return the current description of a node; `Node` uses it."""
        nodes: list[Mapping[str, Any]] = self._call("describe")["nodes"]
        return next(node for node in nodes if node["id"] == id)

    def _call(self, method: str, **params: Any) -> Any:
        return self._server.call(method, cluster=self._name, **params)


def _by_partition(offsets: Mapping[str, int]) -> dict[int, int]:
    """Convert the keys, which are strings in JSON."""
    return {int(partition): offset for partition, offset in offsets.items()}
