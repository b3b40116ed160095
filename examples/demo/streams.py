"""The metadata file of the demo."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from dynamic_kafka_testkit import Cluster


class StreamsFile:
    """Defines the streams, all on the same clusters. The file is replaced atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = ["orders"]
        self.states: dict[str, str] = {}

    def write(self, *active: Cluster, draining: Cluster | None = None, only_read: Cluster | None = None) -> None:
        """Move the streams to these clusters; `only_read` takes no writes."""
        leaving = [] if draining is None else [draining]
        self.states = {c.name: "active" for c in active} | {c.name: "draining" for c in leaving}
        document = {
            "version": 1,
            "clusters": {
                c.name: {"properties": {"bootstrap.servers": c.bootstrap_servers}} for c in [*active, *leaving]
            },
            "streams": {
                stream: {
                    "format": "json",
                    "schema": "id BIGINT, amount BIGINT",
                    "clusters": {
                        name: {
                            "topics": [stream],
                            "state": s,
                            "write": only_read is None or name != only_read.name,
                        }
                        for name, s in self.states.items()
                    },
                }
                for stream in self.names
            },
        }
        new = self.path.with_suffix(".new")
        new.write_text(yaml.safe_dump(document, sort_keys=False))
        os.replace(new, self.path)
