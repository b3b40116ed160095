"""Real Kafka brokers for tests, the demo and the benchmark: the Scala testkit, driven from Python."""

from __future__ import annotations

from ._cluster import Cluster, Node
from ._mirror import MirrorMaker
from ._records import Record, StoredRecord
from ._security import MutualTls, Scram
from ._server import TestkitError
from ._testkit import Testkit

__all__ = [
    "Cluster",
    "MirrorMaker",
    "MutualTls",
    "Node",
    "Record",
    "Scram",
    "StoredRecord",
    "Testkit",
    "TestkitError",
]
