"""The client of one cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import TracebackType
from typing import Any

from ._records import Record, StoredRecord
from ._server import Server


class Cluster:
    """A Kafka cluster with one broker, which is a separate process.

    Every method returns when its effect is visible to all clients. Methods that send requests to the broker fail
    immediately while it is down or frozen. They bypass a proxy, so it may be paused or cut.
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
    def pid(self) -> int:
        """The id of the current or last process."""
        return int(self._description["pid"])

    def is_alive(self) -> bool:
        """Whether the process exists, even if it is frozen."""
        return bool(self._call("describe")["isAlive"])

    def create_topic(self, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        self._call("createTopic", topic=topic, partitions=partitions, configs=dict(configs or {}))

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

    def load(self, topic: str, records: int, record_bytes: int) -> None:
        """Fill a topic as fast as possible, round robin over its partitions.

        Keys are 0, 1, 2, ... in 8 bytes, big endian; values are random. `record_bytes` is the size of key and value.
        """
        self._call("load", topic=topic, records=records, recordBytes=record_bytes)

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
        """Send SIGKILL: the broker does not shut down gracefully."""
        self._change("kill")

    def freeze(self) -> None:
        """Send SIGSTOP: the broker keeps its connections but does not respond."""
        self._change("freeze")

    def thaw(self) -> None:
        """Send SIGCONT: end `freeze`."""
        self._change("thaw")

    def restart(self) -> None:
        """Restart the broker with the same data and ports. A running broker is shut down first."""
        self._change("restart")

    def restart_on_new_port(self) -> None:
        """Move the cluster to a new address with the same data. No process listens on the old address afterwards."""
        self._change("restartOnNewPort")

    def pause_network(self) -> None:
        """Stop forwarding and keep the connections open. Requires a proxy, like the next two methods."""
        self._call("pauseNetwork")

    def cut_network(self) -> None:
        """Reset all connections, and each new one, until `resume_network`."""
        self._call("cutNetwork")

    def resume_network(self) -> None:
        """End `pause_network` and `cut_network`."""
        self._call("resumeNetwork")

    def stop(self) -> None:
        """End the broker and delete its data. The cluster cannot be used again."""
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

    def _call(self, method: str, **params: Any) -> Any:
        return self._server.call(method, cluster=self._name, **params)

    def _change(self, method: str) -> None:
        self._description = self._call(method)


def _by_partition(offsets: Mapping[str, int]) -> dict[int, int]:
    """Convert the keys, which are strings in JSON."""
    return {int(partition): offset for partition, offset in offsets.items()}
