"""Where partitions end in Kafka now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from dynamic_kafka._tools.checkpoint.positions import Position

Partition = tuple[str, int]


@dataclass(frozen=True)
class Ends:
    """What a cluster answered.

    Attributes:
        by_partition: End offsets by topic and partition.
        missing: Why some are not known, in words; None if all are.
    """

    by_partition: dict[Partition, int] = field(default_factory=dict)
    missing: str | None = None


def ends_of(
    positions: Iterable[Position], clusters: Mapping[str, Mapping[str, str]], timeout_s: float
) -> dict[str, Ends]:
    """Asks all clusters at once.

    Args:
        positions: Partitions to ask for.
        clusters: Properties of the clusters, as the checkpoint remembers them.
        timeout_s: How long a cluster may take.

    Returns:
        By cluster id; a cluster that gives no answer has a reason instead of ends.
    """
    asked: dict[str, list[Partition]] = {}
    for position in positions:
        asked.setdefault(position.cluster, []).append((position.topic, position.partition))
    if not asked:
        return {}
    with ThreadPoolExecutor(max_workers=min(len(asked), 16)) as pool:
        answers = pool.map(lambda id: _ends(clusters.get(id), asked[id], timeout_s), asked)
        return dict(zip(asked, answers, strict=True))


def _ends(properties: Mapping[str, str] | None, partitions: list[Partition], timeout_s: float) -> Ends:
    if properties is None:
        return Ends(missing="the checkpoint does not remember this cluster")
    if "bootstrap.servers" not in properties:
        return Ends(missing="the checkpoint has no address of it, since it was given by a reference")
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol.startswith("SASL"):
        return Ends(missing=f"it wants credentials ({protocol}), and a checkpoint never holds any")
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        return Ends(missing="there is no Kafka client in this Python: pip install 'dynamic-kafka[cli]'")
    from dynamic_kafka._tools.checkpoint.kafka import end_offsets

    return end_offsets(properties, partitions, timeout_s)
