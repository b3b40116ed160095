"""A database whose changes Debezium writes to several clusters."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Record

Row = dict[str, Any]
KEYS = 12


class Database:
    """One table. Changes of one row go to any of the clusters, as while a connector moves."""

    def __init__(self, topic: str, choice: random.Random) -> None:
        self._topic = topic
        self._choice = choice
        self._lsn = 1000
        self._sent: list[Record] = []
        self.rows: dict[int, Row] = {}

    def work(self, changes: int, *clusters: Cluster) -> None:
        """Make random changes. Some are written again later, as by a connector that has lost its position."""
        records: dict[Cluster, list[Record]] = {cluster: [] for cluster in clusters}
        for _ in range(changes):
            made = self._change()
            self._sent += made
            records[self._choice.choice(clusters)] += made
            if self._choice.random() < 0.2:
                records[self._choice.choice(clusters)].append(self._choice.choice(self._sent))
        for cluster, of in records.items():
            cluster.produce(self._topic, of)

    def _change(self) -> list[Record]:
        self._lsn += self._choice.randrange(1, 100)
        key = self._choice.randrange(KEYS)
        before = self.rows.pop(key, None)
        if before is None:
            return [self._record(key, "c", None, self._row(key))]
        kind = self._choice.random()
        if kind < 0.3:
            return [self._record(key, "d", before, None)]
        other = self._choice.randrange(KEYS)
        if kind < 0.4 and other != key and other not in self.rows:
            # Another key: Debezium writes a deletion and an insertion.
            return [self._record(key, "d", before, None), self._record(other, "c", None, self._row(other))]
        return [self._record(key, "u", before, self._row(key))]

    def _row(self, key: int) -> Row:
        name = self._choice.choice(["Anne", "Bob", None])
        self.rows[key] = {"id": key, "name": name, "credit": f"{self._choice.randrange(99)}.50"}
        return self.rows[key]

    def _record(self, key: int, op: str, before: Row | None, after: Row | None) -> Record:
        from dynamic_kafka_testkit import Record

        source = {"connector": "postgresql", "table": "customers", "lsn": self._lsn}
        value = {"before": before, "after": after, "op": op, "source": source, "ts_ms": 1}
        return Record(key % 2, str(key), json.dumps(value))
