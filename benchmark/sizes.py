"""How much is measured."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sizes:
    """The sizes of the real run. Rounds count those that are kept; the cold ones come before."""

    records: int = 3_000_000
    """Of each of the two large topics."""
    record_bytes: int = 100
    partitions: int = 4
    rounds: int = 5
    cold_rounds: int = 3
    """Dropped: the JVM has compiled all of the path after about as many."""
    cost_rounds: int = 15
    """Kept ones of a ratio near 1, which a few rounds do not tell from noise."""
    scale: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of cluster ids."""
    scale_records: int = 100
    """Of each cluster id."""
    round_trip_ms: float = 50
    triggers: int = 12
    """For planning time, by number of cluster ids."""
    changes: int = 10
    """For discovery."""
    quiet_s: float = 2.5
    """How long discovery looks for silence, without a change and after each."""
    offset_partitions: int = 10_000
    offset_rounds: int = 200
    memory_clusters: int = 8
    memory_triggers: tuple[int, int] = (100, 1000)
    sink_records: int = 1_000_000
    """Of a batch that is written."""
    sink_batches: int = 3
    sink_tasks: tuple[int, ...] = (1, 10, 100)
    """Each with a transaction on both clusters."""
    sink_small_batches: int = 10
    """Of so many tasks with few records."""
    sink_heap_batches: tuple[int, int] = (100, 1000)

    def all_rounds(self, rounds: int | None = None) -> range:
        """The cold ones first."""
        return range(self.cold_rounds + (self.rounds if rounds is None else rounds))


SMOKE = Sizes(
    records=2_000,
    rounds=1,
    cold_rounds=0,
    cost_rounds=1,
    scale=(1, 2),
    scale_records=8,
    round_trip_ms=5,
    triggers=2,
    changes=1,
    quiet_s=0.5,
    offset_partitions=1_000,
    offset_rounds=5,
    memory_clusters=2,
    memory_triggers=(2, 5),
    sink_records=1_000,
    sink_batches=1,
    sink_tasks=(2,),
    sink_small_batches=1,
    sink_heap_batches=(1, 3),
)


def chosen(smoke: bool, records: int | None, rounds: int | None) -> Sizes:
    """The sizes for what the command line says."""
    sizes = SMOKE if smoke else Sizes()
    return replace(sizes, records=records or sizes.records, rounds=rounds or sizes.rounds)
