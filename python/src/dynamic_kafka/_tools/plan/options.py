"""The options of a query that decide what its next batch reads, as its checkpoint has them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from dynamic_kafka._tools.plan.error import PROCEDURE, PlanError
from dynamic_kafka._tools.plan.mirror import MirroredTopics

_DEFAULT = "earliest"
_REPLICATION_POLICY = "mirrorMakerReplicationPolicy"
_BATCH_MAY_BE_SMALLER = {
    "minOffsetsPerTrigger": "waits until it has {0} records, which may delay the batch",
    "maxBytesPerTrigger": "limits the bytes of a batch ({0}), so the batch may be smaller",
    "alignment": "aligns clusters by time ({0}), so the batch may be smaller",
}


@dataclass(frozen=True)
class Options:
    """The options.

    Attributes:
        given: Those that are set, by name.
    """

    given: Mapping[str, str] = field(default_factory=dict)

    @property
    def drains_removed(self) -> bool:
        """Whether what leaves the metadata is drained."""
        return (self._get("removedClusterPolicy") or "stop").lower() == "drain"

    @property
    def replaced_policy(self) -> str:
        """Where the query continues in a Kafka cluster that replaces another one."""
        return (self._get("replacedClusterPolicy") or "fail").lower()

    @property
    def group(self) -> str:
        """The consumer group of the query, which the policy ``mirror-maker`` requires."""
        group = self._get("commitGroupId")
        if group is None:
            raise PlanError("the checkpoint lacks the option commitGroupId, which replacedClusterPolicy requires")
        return group

    def mirror_maker_alias(self, former: str) -> str:
        """How MirrorMaker calls the former cluster."""
        return self._get("mirrorMakerSourceAlias") or former

    @property
    def mirrored_topics(self) -> MirroredTopics:
        """How MirrorMaker names topics."""
        policy = (self._get(_REPLICATION_POLICY) or "default").strip()
        if policy not in ("default", "identity"):
            raise PlanError(f"{_REPLICATION_POLICY} is '{policy}', a class of Java: {PROCEDURE} has an answer")
        separator = self._get(f"{_REPLICATION_POLICY}.replication.policy.separator")
        internal = self._get(f"{_REPLICATION_POLICY}.replication.policy.internal.topic.separator.enabled")
        return MirroredTopics(
            policy == "identity",
            separator or ".",
            separator is None or internal is None or internal.lower() == "true",
        )

    @property
    def allows_missing_streams(self) -> bool:
        """Whether streams that the metadata lack count as removed."""
        return (self._get("allowMissingStreams") or "false").lower() == "true"

    @property
    def retention_ms(self) -> int:
        """How long positions of what has left are retained; -1: forever."""
        text = self._get("streamMetadataRemovedClusterRetentionMs")
        return -1 if text is None else _milliseconds("streamMetadataRemovedClusterRetentionMs", text)

    def most_removed(self, clusters: int) -> int:
        """The number of clusters that the metadata may lack at once, of a query that reads `clusters`."""
        given = self._number("maxRemovedClustersPerChange")
        if given is None:
            return max(1, clusters // 2)
        return clusters if given < 0 else given

    def subscribes(self, stream: str) -> bool:
        """Whether the query reads a stream that its checkpoint does not name."""
        pattern = self._get("streamPattern")
        if pattern is None:
            return False
        try:
            return re.fullmatch(pattern, stream) is not None
        except re.error:
            raise PlanError(f"the streamPattern {pattern} is one of Java only") from None

    def start_of(self, cluster: str, metadata: str | None, is_known: bool) -> str:
        """Where a new topic starts: ``earliest``, ``latest``, ``timestamp:<ms>`` or JSON by topic.

        Args:
            cluster: Id of its cluster.
            metadata: What the metadata say.
            is_known: Whether the query has read other topics of the cluster.
        """
        if self._get(f"cluster.{cluster}.startingOffsetsByTimestamp") is not None:
            raise PlanError(f"cluster '{cluster}' has startingOffsetsByTimestamp, which is not planned")
        if (time := self._get(f"cluster.{cluster}.startingTimestamp")) is not None:
            return f"timestamp:{time}"
        general = "newTopicStartingOffsets" if is_known else "newClusterStartingOffsets"
        return self._get(f"cluster.{cluster}.startingOffsets") or metadata or self._get(general) or _DEFAULT

    @property
    def limit(self) -> int | None:
        """The maximum number of records of a batch."""
        return self._number("maxOffsetsPerTrigger")

    def limit_of(self, cluster: str) -> int | None:
        """The maximum number of records of one cluster in a batch."""
        return self._number(f"cluster.{cluster}.maxOffsetsPerTrigger")

    @property
    def assumed(self) -> list[str]:
        """What the plan leaves out, for users."""
        return [
            f"the query {text.format(self.given[name])}"
            for name, text in _BATCH_MAY_BE_SMALLER.items()
            if self.given.get(name, "none").lower() != "none"
        ]

    def _get(self, name: str) -> str | None:
        return self.given.get(name)

    def _number(self, name: str) -> int | None:
        text = self._get(name)
        try:
            return None if text is None else int(text)
        except ValueError:
            raise PlanError(f"{name} is '{text}' in the checkpoint, which is no number") from None


_UNITS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def _milliseconds(name: str, text: str) -> int:
    found = re.fullmatch(r"\s*(-?\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _UNITS:
        raise PlanError(f"{name} is '{text}' in the checkpoint, which is not planned")
    return int(found[1]) * _UNITS[found[2]]
