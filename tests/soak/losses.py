"""What Kafka deletes during a soak, and what of it the query has read: the rest is lost, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tests.harness.checker import Seen
from tests.harness.checkpoint import Checkpoint
from tests.harness.scene import positions

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


# At this interval, by default each minute, a broker notes where the records of a partition begin. When it is killed,
# those that were deleted after the last note are back.
FLUSH_S = 0.5
BROKER = {"log.flush.start.offset.checkpoint.interval.ms": str(round(FLUSH_S * 1000))}


class Losses:
    """All deletions of a soak.

    The query has `failOnDataLoss=false`. Which records it loses is known if it is dead, or is not reading the topic:
    those between its last finished batch and the deletion. A batch that was logged and did not finish is read again
    without them.
    """

    def __init__(self) -> None:
        self.gone: Counter[Seen] = Counter()
        """Records that were read before they were deleted: each is in the output once."""
        self.lost: set[Seen] = set()
        """Records that were deleted before a finished batch had read them: none is in the output."""

    def declare(
        self, id: str, cluster: Cluster, topic: str, below: Mapping[int, int], read: Mapping[int, int]
    ) -> None:
        """Note the records that are about to be deleted.

        Args:
            id: The id of the cluster.
            cluster: Its brokers.
            topic: The topic.
            below: The offset below which the records of a partition are deleted.
            read: The offset below which finished batches have read a partition.
        """
        for record in cluster.dump(topic):
            row = Seen(id, topic, record.partition, record.offset, str(record.value))
            if record.offset >= below.get(record.partition, 0):
                continue
            if record.offset < read.get(record.partition, 0):
                self.gone[row] = 1
            else:
                self.lost.add(row)


def finished(checkpoint: Checkpoint, cluster: str, topic: str, former: Collection[str] = ()) -> dict[int, int]:
    """The offsets up to which finished batches have read a topic, by partition, also if it is not in the metadata.

    Args:
        checkpoint: Of the query.
        cluster: The id of the cluster.
        topic: The name of the topic.
        former: Kafka's ids of deleted topics of this name: the query may not have noticed yet that there is a new one.
    """
    offset = checkpoint.last_finished()
    if _topic_id(offset, cluster, topic) in former:
        return {}
    read = positions_with_retained(offset)
    return {partition: at for (id, name, partition), at in read.items() if (id, name) == (cluster, topic)}


def positions_with_retained(offset: Mapping[str, Any]) -> dict[tuple[str, str, int], int]:
    """The positions of a composite offset, those of clusters and topics that are not in the metadata among them."""
    return positions(offset) | positions({"clusters": _retained(offset)})


def known_id(checkpoint: Checkpoint, cluster: str, topic: str) -> str | None:
    """Kafka's id of the topic that finished batches have read under this name, if they have."""
    return _topic_id(checkpoint.last_finished(), cluster, topic)


def _topic_id(offset: Mapping[str, Any], cluster: str, topic: str) -> str | None:
    read = offset.get("identities", {}).get(cluster, {}).get("topics", {})
    retained = offset.get("retained", {}).get(cluster, {}).get("topics", {})
    found = read.get(topic) or retained.get(topic, {}).get("id")
    return None if found is None else str(found)


def _retained(offset: Mapping[str, Any]) -> dict[str, Any]:
    return {
        cluster: {topic: of["offsets"] for topic, of in entry["topics"].items()}
        for cluster, entry in offset.get("retained", {}).items()
    }
