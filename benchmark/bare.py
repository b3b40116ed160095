"""The same records, read by Kafka's consumer without Spark, and by Flink."""

from __future__ import annotations

from collections.abc import Sequence

from benchmark.paths import ROOT
from benchmark.sources import SAME_SETTINGS, Member
from benchmark.steps.programs import run_command, run_program

# Flink with its connector for Kafka, and the compiled job.
_FLINK = ROOT / "target" / "flink"
_SETTINGS = ",".join(f"{name}={value}" for name, value in SAME_SETTINGS.items())


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
    sources = [f"{m.bootstrap_servers}/{m.topic}/{records // len(members)}" for m in members]
    *_, last = run_program("BareConsumer", 2, partitions, rounds, _SETTINGS, *sources)
    return last


def read_flink(member: Member, rounds: int, *schema: str) -> list[dict[str, float]]:
    """Read all records with two tasks and the connector's settings, in a new JVM.

    Args:
        member: the topic.
        rounds: how often it is read, with a job each; the first ones are cold.
        schema: of Avro; with it, the job counts the records of each branch and sums their amounts.

    Returns:
        the figures of each round, as `ReadingJob` prints them.
    """
    if not _FLINK.exists():
        raise RuntimeError(f"no Flink in {_FLINK}: run 'make target/flink/.ready' first")
    quiet = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"
    command = ["java", "-Xmx3g", quiet, "-cp", f"{_FLINK / 'classes'}:{_FLINK / 'jars'}/*", "ReadingJob"]
    return run_command([*command, str(rounds), _SETTINGS, member.bootstrap_servers, member.topic, *schema])
