"""A `read_committed` reader that polls continuously: a record that it has read must not disappear."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING

from .output_checker import OutputRecord, visible, withdrawn
from .waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

PAUSE_S = 1.0


class Watcher:
    """Polls in a thread while the body of `with` runs. Its end raises an error if a record has disappeared.

    Args:
        topics: (cluster id, its broker, topic). Clusters that are down are skipped.
        pause_s: The pause between two looks.
    """

    def __init__(self, topics: Iterable[tuple[str, Cluster, str]], pause_s: float = PAUSE_S) -> None:
        self._topics = list(topics)
        self._pause_s = pause_s
        self._seen: dict[tuple[str, str], set[OutputRecord]] = {
            (id, topic): set() for id, _, topic in self._topics
        }
        self._faults: list[OutputRecord] = []
        self._looks = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def look_again(self) -> None:
        """Wait until all topics have been read completely."""
        after = self._looks + 2
        until("the watcher", lambda: self._looks >= after or not self._thread.is_alive(), 300)
        assert self._thread.is_alive()

    @property
    def looks(self) -> int:
        """How often all topics have been read."""
        return self._looks

    def seen(self) -> set[str]:
        """All payloads that have been visible."""
        return {record.value for records in self._seen.values() for record in list(records)}

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()
        if error is None:
            assert self._looks > 0
            assert not self._faults, f"{len(self._faults)} withdrawn: {self._faults[:5]}"

    def _run(self) -> None:
        from dynamic_kafka_testkit import TestkitError

        while not self._stop.wait(self._pause_s):
            for cluster_id, cluster, topic in self._topics:
                try:
                    now = visible({cluster_id: cluster}, topic)
                except TestkitError:
                    continue  # The broker is down.
                place = (cluster_id, topic)
                self._faults += withdrawn(self._seen[place], now)
                self._seen[place] = self._seen[place] | set(now)
            self._looks += 1
