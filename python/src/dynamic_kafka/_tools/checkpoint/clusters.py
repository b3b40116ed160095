"""Asks the clusters of a checkpoint for end offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from dynamic_kafka._tools.checkpoint.ends import Ends, Partition
from dynamic_kafka._tools.checkpoint.positions import Position


def ends_of(
    positions: Iterable[Position], clusters: Mapping[str, Mapping[str, str]], timeout_s: float
) -> dict[str, Ends]:
    """Requests the end offsets of all clusters concurrently.

    Args:
        positions: The partitions.
        clusters: Kafka client properties by cluster id, from the checkpoint.
        timeout_s: Limit per cluster, in seconds.

    Returns:
        Answers by cluster id.
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
        return Ends(missing="the checkpoint has no properties of this cluster")
    if "bootstrap.servers" not in properties:
        return Ends(
            missing="the checkpoint has no address of this cluster, because the metadata has a reference instead"
        )
    protocol = properties.get("security.protocol", "PLAINTEXT").upper()
    if protocol.startswith("SASL") and "sasl.jaas.config" not in properties:
        reason = f"the cluster needs credentials ({protocol}), which checkpoints do not contain"
        return Ends(missing=f"{reason}: use --metadata")
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        return Ends(missing="no Kafka client is installed in this Python: pip install 'dynamic-kafka[cli]'")
    from dynamic_kafka._tools.checkpoint.kafka import end_offsets

    return end_offsets(properties, partitions, timeout_s)
