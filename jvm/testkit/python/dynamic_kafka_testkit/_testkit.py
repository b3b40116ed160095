"""The entry point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from ._cluster import Cluster
from ._mirror import MirrorMaker
from ._security import MutualTls, Scram, request
from ._server import Server

# Written by the build.
_CLASSPATH_FILE = Path(__file__).resolve().parents[2] / "target" / "testkit.classpath"


class Testkit:
    """Starts clusters. They end with it, and with this process, in whatever way it ends.

    >>> with Testkit() as testkit:
    ...     blue, green = testkit.start_all("blue", "green")
    """

    # pytest would collect a class of this name.
    __test__ = False

    def __init__(self, classpath_file: Path = _CLASSPATH_FILE) -> None:
        self._server = Server(classpath_file)

    @property
    def pid(self) -> int:
        """The process id of the server, the parent of the brokers."""
        return self._server.pid

    def versions(self) -> list[str]:
        """Return all broker versions, the default first."""
        return list(self._server.call("versions"))

    def start(
        self,
        name: str,
        *,
        version: str | None = None,
        properties: Mapping[str, str] | None = None,
        port: int | None = None,
        round_trip_ms: float | None = None,
        security: Scram | MutualTls | None = None,
        nodes: int = 1,
        racks: Sequence[str] = (),
    ) -> Cluster:
        """Start a cluster and return when it is ready.

        `properties` are additional lines of server.properties. `port` is the port for clients; by default, a free
        one. With `round_trip_ms` (0 is allowed) clients connect through a proxy, which delays them and which
        `Cluster.cut_network` and related methods control. `security` applies to clients; the testkit uses another
        listener.

        With several `nodes`, a topic has as many replicas by default, at most three, and `min.insync.replicas` is
        one less. `racks` are the racks of the nodes, or none.
        """
        description = self._server.call(
            "start",
            name=name,
            version=version,
            properties=dict(properties or {}),
            port=port,
            roundTripMs=round_trip_ms,
            security=request(security),
            nodes=nodes,
            racks=list(racks),
        )
        return Cluster(self._server, description)

    def start_all(
        self,
        *names: str,
        properties: Mapping[str, str] | None = None,
        nodes: Mapping[str, int] | None = None,
    ) -> list[Cluster]:
        """Start clusters with these names in parallel, with the same properties; `nodes` are brokers by name."""

        def start(name: str) -> Cluster:
            return self.start(name, properties=properties, nodes=(nodes or {}).get(name, 1))

        with ThreadPoolExecutor(max(1, len(names))) as threads:
            return list(threads.map(start, names))

    def mirror(
        self,
        source: Cluster,
        target: Cluster,
        *,
        alias: str,
        topics: Sequence[str],
        groups: Sequence[str],
        target_alias: str = "target",
        identity: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> MirrorMaker:
        """Start MirrorMaker 2 and return immediately: callers wait for what it copies.

        `alias` and `target_alias` are the names of the clusters in its configuration; `topics` and `groups` are
        regular expressions. With `identity`, topics keep their names; otherwise the alias and a dot precede them.
        `properties` are further lines of its configuration, which take precedence.
        """
        mirror = self._server.call(
            "startMirror",
            source=source.name,
            target=target.name,
            alias=alias,
            targetAlias=target_alias,
            topics=list(topics),
            groups=list(groups),
            identity=identity,
            properties=dict(properties or {}),
        )
        return MirrorMaker(self._server, mirror)

    def close(self) -> None:
        """Stop all clusters and delete their data."""
        self._server.stop()

    def __enter__(self) -> Testkit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
