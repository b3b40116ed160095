"""The same records, read by Kafka's consumer without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.sources import SAME_SETTINGS, Member
from benchmark.steps.programs import run_program


def read_bare(members: Sequence[Member], partitions: int, records: int, rounds: int) -> dict[str, float]:
    """Read all records with two threads and the connector's settings, in a new JVM.

    Args:
        members: clusters with the same number of records in each partition.
        partitions: of each cluster.
        records: of all clusters together.
        rounds: how often they are read; all but the last one are cold.

    Returns:
        the figures of the last round, as `BareConsumer` prints them.
    """
    settings = ",".join(f"{name}={value}" for name, value in SAME_SETTINGS.items())
    sources = [f"{m.bootstrap_servers}/{m.topic}/{records // len(members)}" for m in members]
    *_, last = run_program("BareConsumer", 2, partitions, rounds, settings, *sources)
    return last
