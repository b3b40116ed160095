"""Produces numbered orders at a steady rate."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter

from dynamic_kafka_testkit import Cluster, Record

from demo.verdict import Order

PARTITIONS = 2


def order(number: int) -> str:
    """An order as JSON."""
    return json.dumps({"id": number, "amount": number % 100})


_TICK_S = 0.05


class Producer:
    """Writes orders 0, 1, 2, ... and stores the position of each one that the brokers have acknowledged."""

    def __init__(self, orders_per_second: int, topic: str = "orders") -> None:
        self.acknowledged: list[Order] = []
        self.counts: Counter[str] = Counter()
        self.error: Exception | None = None
        self._topic = topic
        self._per_tick = max(1, round(orders_per_second * _TICK_S))
        self._sequence = itertools.count()
        self._clusters: list[Cluster] = []
        self._lock = threading.Lock()
        self._start()

    def _start(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="producer", daemon=True)
        self._thread.start()

    def resume(self, *clusters: Cluster) -> None:
        """Continue on these clusters after `stop`."""
        self.move_to(*clusters)
        self._start()

    def numbers(self) -> set[int]:
        """Return the numbers of all acknowledged orders."""
        return {order.sequence for order in self.acknowledged}

    def move_to(self, *clusters: Cluster) -> None:
        """Write to these clusters from now on; after the return, no order is written to another cluster."""
        with self._lock:
            self._clusters = list(clusters)

    def stop(self) -> None:
        """Stop. All sent orders are acknowledged on return."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ended.wait(_TICK_S):
                with self._lock:
                    for cluster in self._clusters:
                        self._send(cluster, self._per_tick // len(self._clusters))
        except Exception as error:
            self.error = error

    def _send(self, cluster: Cluster, number: int) -> None:
        numbers = list(itertools.islice(self._sequence, number))
        records = [Record(partition=n % PARTITIONS, key=None, value=order(n)) for n in numbers]
        # Counted first: a query may read records before they are acknowledged here.
        self.counts[cluster.name] += number
        places = cluster.produce(self._topic, records)
        for sequence, (partition, offset) in zip(numbers, places, strict=True):
            self.acknowledged.append(Order(cluster.name, partition, offset, sequence))
