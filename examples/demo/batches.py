"""The output of the query: a file for each batch."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from demo.verdict import Order

Row = tuple[str, int, int, int, int]


def write(folder: Path, batch_id: int, orders: list[Row]) -> None:
    """Write the positions, ids and amounts of a batch.

    Idempotent, as a sink has to be: a batch that is repeated replaces its first attempt.
    """
    file = folder / f"{batch_id:06}.json"
    unfinished = file.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(orders))
    os.replace(unfinished, file)


class Batches:
    """Follows the files of the batches."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.amounts: Counter[str] = Counter()
        self._seen: dict[str, tuple[tuple[int, int], list[Row]]] = {}

    def refresh(self) -> None:
        """Read new and replaced files."""
        changed = False
        for file in self.folder.glob("*.json"):
            stat = file.stat()
            version = (stat.st_ino, stat.st_mtime_ns)
            known = self._seen.get(file.name)
            if known is None or known[0] != version:
                self._seen[file.name] = (version, [tuple(row) for row in json.loads(file.read_text())])
                changed = True
        if changed:
            self.counts = Counter(order.cluster for order in self.orders())
            self.amounts = Counter()
            for _, rows in self._seen.values():
                for cluster, *_, amount in rows:
                    self.amounts[cluster] += amount

    def numbers(self) -> set[int]:
        """Return the numbers of all orders that were delivered."""
        return {order.sequence for order in self.orders()}

    def orders(self) -> Iterator[Order]:
        """Return every order as often as it was delivered."""
        for _, rows in self._seen.values():
            for cluster, partition, offset, id, _ in rows:
                yield Order(cluster, partition, offset, id)
