"""MirrorMaker between two clusters."""

from __future__ import annotations

from ._server import Server


class MirrorMaker:
    """MirrorMaker 2 from one cluster to another, a process of its own. It ends with the testkit.

    It copies with a delay and at least once: after `kill` some records are copied again.
    """

    def __init__(self, server: Server, mirror: str) -> None:
        self._server = server
        self._mirror = mirror

    def kill(self) -> None:
        """Send SIGKILL."""
        self._call("killMirror")

    def stop(self) -> None:
        """End the process, if it runs. Offsets of what it has copied are stored."""
        self._call("stopMirror")

    def restart(self) -> None:
        """Start the process again with the same configuration; a running one is stopped first."""
        self._call("restartMirror")

    def _call(self, method: str) -> None:
        self._server.call(method, mirror=self._mirror)
