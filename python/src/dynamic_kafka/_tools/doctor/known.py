"""What the checkpoint of a query says of clusters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.log import newest_batch
from dynamic_kafka._tools.checkpoint.memory import remembered
from dynamic_kafka._tools.checkpoint.migrated import is_migrated, missing
from dynamic_kafka._tools.checkpoint.sources import composite_texts
from dynamic_kafka._tools.doctor.check import NAMES, Check, Result
from dynamic_kafka._tools.plan.options import Options
from dynamic_kafka.model import KafkaStream


@dataclass(frozen=True)
class Known:
    """What is known of one cluster.

    Attributes:
        kafka_id: The ``cluster.id`` of Kafka. None: not known.
        policy: The ``replacedClusterPolicy`` of the query.
        is_migrated: Whether ``migrate`` has written the positions, and the query has not run since.
        missing_topics: Topics of such positions that no stream has.
    """

    kafka_id: str | None = None
    policy: str = "fail"
    is_migrated: bool = False
    missing_topics: tuple[str, ...] = ()

    def cluster_id(self, found: str) -> Result:
        """Whether this is the Kafka cluster that the query has read.

        Args:
            found: Its ``cluster.id``.
        """
        if self.is_migrated:
            return Result(
                "warning",
                f"{found}; whether the query has read it is not known: migrated checkpoints have no cluster.id",
                "compare bootstrap.servers with kafka.bootstrap.servers of the former query",
            )
        if self.kafka_id is None:
            return Result("ok", found)
        if self.kafka_id == found:
            return Result("ok", f"{found}, as in the checkpoint")
        what = f"{found}, but the checkpoint has read {self.kafka_id}"
        if self.policy != "fail":
            return Result(
                "warning",
                f"{what}: replacedClusterPolicy={self.policy} decides where the query continues",
                "look at what 'plan' says",
            )
        return Result(
            "failed", what, "correct bootstrap.servers; if the cluster was replaced, see replacedClusterPolicy"
        )

    def topics(self, found: Result) -> Result:
        """With the topics that the first start would miss.

        Args:
            found: What the brokers say about topics.
        """
        if not self.missing_topics:
            return found
        lacking = f"no stream has {', '.join(self.missing_topics)} of the migrated checkpoint: MIGRATION_MISMATCH"
        text = lacking if found.status == "ok" else f"{found.message}; {lacking}"
        return Result("failed", text, found.remedy or "add the topic to a stream of the query")


def known_of(checkpoint: Path, streams: Mapping[str, KafkaStream]) -> tuple[dict[str, Known], list[Check]]:
    """Returns what a checkpoint says of clusters, and checks of those that the metadata lack.

    Raises:
        CheckpointError: if it is not a checkpoint of a dynamic-kafka query.
    """
    found: dict[str, Known] = {}
    lacking: list[Check] = []
    for source, text in composite_texts(checkpoint, newest_batch(checkpoint)).items():
        offset = composite.read(text)
        if is_migrated(checkpoint, source) and not offset.identities:
            clusters, topics = missing(offset, streams)
            for id, suggestion in clusters.items():
                lacking += _lacking(id, suggestion)
            for id in offset.clusters.keys() - clusters.keys():
                found[id] = Known(is_migrated=True, missing_topics=tuple(topics.get(id, ())))
            continue
        policy = Options(remembered(checkpoint, source).options).replaced_policy
        for id, identity in offset.identities.items():
            found[id] = Known(identity.cluster, policy)
    return found, lacking


def _lacking(id: str, suggestion: str) -> list[Check]:
    message = f"no stream has this cluster of the migrated checkpoint: MIGRATION_MISMATCH.{suggestion}"
    remedy = "give it its id of the metadata, with rename-cluster"
    return [
        Check(id, name, "failed", message, remedy)
        if name == "cluster_id"
        else Check(id, name, "skipped", "no stream has the cluster", None)
        for name in NAMES
    ]
