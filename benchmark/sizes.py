"""The sizes of the measurements."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Sizes:
    """The sizes of the real run. `rounds` are measured, after the cold ones."""

    records: int = 3_000_000
    """Records of each of the two large topics."""
    record_bytes: int = 100
    partitions: int = 4
    rounds: int = 5
    cold_rounds: int = 3
    """Dropped, because the JVM needs about this number of rounds to compile the whole path."""
    bare_cold_rounds: int = 15
    """In each JVM, until nothing is compiled any more."""
    bare_rounds: int = 10
    cost_rounds: int = 15
    """More rounds for a ratio near 1, which a few rounds do not distinguish from noise."""
    scale: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of cluster ids."""
    scale_records: int = 100
    """Records of each cluster id."""
    round_trip_ms: float = 50
    triggers: int = 12
    """Triggers of a planning measurement, for each number of cluster ids."""
    changes: int = 10
    """Changes in the discovery measurement."""
    quiet_s: float = 2.5
    """How long discovery observes the silence of a cluster, without a change and after each change."""
    metadata_changes: int = 5
    """Changes of each metadata service."""
    metadata_poll_ms: int | None = None
    """None: the default of the connector, 30 s."""
    wan_records: int = 500_000
    """Records of the distant clusters together."""
    ids: tuple[int, ...] = (64, 65, 128, 256)
    """Numbers of cluster ids, the first one for comparison; 64 consumers are kept by default."""
    latency_clusters: int = 16
    latency_records: int = 200
    real_time_rates: tuple[int, ...] = (1_000, 20_000)
    """Records per second of all clusters together, multiples of 1,000."""
    real_time_clusters: tuple[int, ...] = (1, 4)
    """At most as many as there are brokers."""
    real_time_rounds: int = 3
    real_time_cold_rounds: int = 3
    """Shorter ones, which are dropped: the JVM compiles until then."""
    real_time_cold_s: float = 2
    real_time_warm_s: float = 1
    real_time_s: float = 4
    real_time_changes: int = 3
    real_time_window_s: float = 5
    """How long clusters that stay are observed after a change."""
    real_time_idle_s: float = 10
    real_time_idle_periods: int = 4
    idle_clusters: int = 64
    idle_partitions: int = 16
    idle_s: float = 30
    idle_warm: int = 10
    """Periods of `idle_s` before the measured one, at most."""
    faults: tuple[str, ...] = ("frozen", "leaderless", "slow")
    fault_s: float = 60
    """How long a query is observed without the fault, and with it."""
    slow_answer_ms: float = 5000
    large: tuple[int, int] = (1000, 100)
    """Cluster ids, and partitions of each."""
    large_rounds: int = 20
    offset_partitions: int = 10_000
    offset_rounds: int = 200
    protobuf_records: int = 100_000
    protobuf_rounds: int = 20
    columns_records: int = 500_000
    columns_rounds: int = 7
    memory_clusters: int = 8
    memory_triggers: tuple[int, int] = (100, 1000)
    sink_records: int = 1_000_000
    """Records of a written batch."""
    sink_batches: int = 3
    sink_tasks: tuple[int, ...] = (1, 10, 100)
    """Numbers of tasks, each with a transaction on both clusters."""
    sink_small_batches: int = 10
    """Batches for each number of tasks, with few records."""
    sink_heap_batches: tuple[int, int] = (100, 1000)
    event_lags_s: tuple[int, int] = (600, 3600)
    """How far two clusters with a record per second are behind."""
    event_outage_s: float = 60
    event_idle_s: int = 120
    """`alignmentIdleTimeout`, which exceeds the outage."""
    backfill_batches: int = 60

    @property
    def backfill_records(self) -> int:
        """10,000,000 by default."""
        return self.records * 10 // 3

    def all_rounds(self, rounds: int | None = None) -> range:
        """The numbers of all rounds, the cold ones first."""
        return range(self.cold_rounds + (self.rounds if rounds is None else rounds))


SMOKE = Sizes(
    records=2_000,
    rounds=1,
    cold_rounds=0,
    bare_cold_rounds=1,
    bare_rounds=1,
    cost_rounds=1,
    scale=(1, 2),
    scale_records=8,
    round_trip_ms=5,
    triggers=2,
    changes=1,
    quiet_s=0.5,
    metadata_changes=1,
    metadata_poll_ms=500,
    wan_records=2_000,
    ids=(1, 2),
    latency_clusters=2,
    latency_records=4,
    real_time_clusters=(1, 2),
    real_time_rounds=1,
    real_time_cold_rounds=1,
    real_time_cold_s=0.1,
    real_time_warm_s=0.1,
    real_time_s=0.2,
    real_time_changes=1,
    real_time_window_s=3,
    real_time_idle_s=0.5,
    real_time_idle_periods=2,
    idle_clusters=2,
    idle_partitions=2,
    idle_s=0.5,
    idle_warm=1,
    faults=("slow",),
    fault_s=1,
    slow_answer_ms=50,
    large=(4, 8),
    large_rounds=2,
    offset_partitions=1_000,
    offset_rounds=5,
    protobuf_records=100,
    protobuf_rounds=2,
    columns_records=500,
    columns_rounds=2,
    memory_clusters=2,
    memory_triggers=(2, 5),
    sink_records=1_000,
    sink_batches=1,
    sink_tasks=(2,),
    sink_small_batches=1,
    sink_heap_batches=(1, 3),
    event_lags_s=(20, 60),
    event_outage_s=1,
    event_idle_s=20,
    backfill_batches=4,
)


def chosen(smoke: bool, records: int | None, rounds: int | None) -> Sizes:
    """The sizes for the arguments of the command line."""
    sizes = SMOKE if smoke else Sizes()
    return replace(sizes, records=records or sizes.records, rounds=rounds or sizes.rounds)
