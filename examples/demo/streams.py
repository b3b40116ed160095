"""The metadata file of the demo."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from dynamic_kafka_testkit import Cluster


class StreamsFile:
    """Says where the stream `orders` lives. Replaced as a whole, so that nobody reads half of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.states: dict[str, str] = {}

    def write(self, *active: Cluster, draining: Cluster | None = None) -> None:
        """From now on the stream lives on these clusters."""
        leaving = [] if draining is None else [draining]
        self.states = {c.name: "active" for c in active} | {c.name: "draining" for c in leaving}
        document = {
            "version": 1,
            "clusters": {
                c.name: {"properties": {"bootstrap.servers": c.bootstrap_servers}} for c in [*active, *leaving]
            },
            "streams": {
                "orders": {
                    "clusters": {name: {"topics": ["orders"], "state": s} for name, s in self.states.items()}
                }
            },
        }
        new = self.path.with_suffix(".new")
        new.write_text(yaml.safe_dump(document, sort_keys=False))
        os.replace(new, self.path)
