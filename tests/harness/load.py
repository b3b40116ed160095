"""Background producers."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


# The number of keys of each partition.
KEYS = 3


def key_of(cluster: str, topic: str, partition: int, number: int) -> str:
    """One of the keys of a partition: the records of a key are in one partition, even if partitions are added."""
    return f"{cluster}/{topic}/{partition}/{number % KEYS}"


class Load:
    """One thread per cluster that produces numbered records to topics, a few at a time.

    A thread waits while its broker is down. Tests ask the broker, not the producer, which records exist.
    """

    def __init__(self, clusters: dict[str, Cluster], pause_s: float = 0.1, records: int = 4) -> None:
        self._clusters = clusters
        self._pause_s = pause_s
        self._records = records
        self._topics: dict[str, dict[str, int]] = {name: {} for name in clusters}
        self._numbers = {name: 0 for name in clusters}
        self._stop = threading.Event()
        self._busy = {name: threading.Lock() for name in clusters}
        self._threads = [threading.Thread(target=self._run, args=(name,), daemon=True) for name in clusters]

    def add(self, cluster: str, topic: str, partitions: int) -> None:
        """Start to produce to a topic, or to more of its partitions."""
        self._topics[cluster] = {**self._topics[cluster], topic: partitions}

    def remove(self, cluster: str, topic: str) -> None:
        """Stop producing to a topic; returns when no request is pending."""
        with self._busy[cluster]:
            self._topics[cluster] = {t: n for t, n in self._topics[cluster].items() if t != topic}

    def send(self, cluster: str, topic: str, count: int) -> str:
        """Produce more records to the first partition of a topic at once; return the value of the last one."""
        from dynamic_kafka_testkit import Record

        with self._busy[cluster]:
            start = self._numbers[cluster]
            self._numbers[cluster] += count
            numbers = range(start, start + count)
            records = [Record(0, key_of(cluster, topic, 0, n), f"{cluster}-{n}") for n in numbers]
            self._clusters[cluster].produce(topic, records)
        return str(records[-1].value)

    def hold(self, cluster: str) -> threading.Lock:
        """A lock that prevents producing to a cluster."""
        return self._busy[cluster]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, name: str) -> None:
        from dynamic_kafka_testkit import Record, TestkitError

        while not self._stop.wait(self._pause_s):
            with self._busy[name]:
                for topic, partitions in self._topics[name].items():
                    start = self._numbers[name]
                    self._numbers[name] += self._records
                    numbers = range(start, start + self._records)
                    records = [
                        Record(n % partitions, key_of(name, topic, n % partitions, n // partitions), f"{name}-{n}")
                        for n in numbers
                    ]
                    try:
                        self._clusters[name].produce(topic, records)
                    except TestkitError:
                        pass  # The broker is down.
