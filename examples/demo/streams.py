"""The metadata file of the demo."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from dynamic_kafka_testkit import Cluster


class StreamsFile:
    """Says where the streams live, all on the same clusters. Replaced as a whole, so that nobody reads half of it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names = ["orders"]
        self.states: dict[str, str] = {}

    def write(self, *active: Cluster, draining: Cluster | None = None, only_read: Cluster | None = None) -> None:
        """From now on the streams live on these clusters; on one of them, nobody is to write to them."""
        leaving = [] if draining is None else [draining]
        self.states = {c.name: "active" for c in active} | {c.name: "draining" for c in leaving}
        document = {
            "version": 1,
            "clusters": {
                c.name: {"properties": {"bootstrap.servers": c.bootstrap_servers}} for c in [*active, *leaving]
            },
            "streams": {
                stream: {
                    "clusters": {
                        name: {
                            "topics": [stream],
                            "state": s,
                            "write": only_read is None or name != only_read.name,
                        }
                        for name, s in self.states.items()
                    }
                }
                for stream in self.names
            },
        }
        new = self.path.with_suffix(".new")
        new.write_text(yaml.safe_dump(document, sort_keys=False))
        os.replace(new, self.path)
