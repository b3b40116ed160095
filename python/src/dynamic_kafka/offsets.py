"""Where reading starts and ends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal

Kind = Literal["starting", "ending"]
Fallback = Literal["fail", "earliest", "latest"]
Offsets = Mapping[str, Mapping[str, Mapping[int, int]]]

FALLBACK = "committedOffsetsFallback"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class OffsetsInitializer:
    """Where reading starts or ends. Made by its static methods, immutable.

    Attributes:
        value: ``earliest``, ``latest``, ``committed``, JSON by cluster, or None for a timestamp.
        timestamp_ms: Epoch milliseconds, where that is what decides.
        fallback: What a partition without a committed offset does, for ``committed``.
    """

    value: str | None = None
    timestamp_ms: int | None = None
    fallback: Fallback | None = None

    @staticmethod
    def earliest() -> OffsetsInitializer:
        """The first record that Kafka still holds."""
        return OffsetsInitializer("earliest")

    @staticmethod
    def latest() -> OffsetsInitializer:
        """The end at the moment the query starts; as an end, fixed once."""
        return OffsetsInitializer("latest")

    @staticmethod
    def committed_offsets(fallback: Fallback = "fail") -> OffsetsInitializer:
        """What the consumer group of the query has committed on each cluster.

        The group is the option ``commitGroupId``, else ``kafka.group.id``.

        Args:
            fallback: For partitions without a committed offset: ``fail`` (default), ``earliest``, ``latest``.

        Raises:
            ValueError: for another fallback.
        """
        if fallback not in ("fail", "earliest", "latest"):
            raise ValueError(f"fallback is 'fail', 'earliest' or 'latest', not {fallback!r}")
        return OffsetsInitializer("committed", fallback=fallback)

    @staticmethod
    def timestamp(when: int | datetime) -> OffsetsInitializer:
        """The first record at or after a time; the end of the partition where there is none.

        Args:
            when: Epoch milliseconds, or a datetime with a time zone.

        Raises:
            ValueError: for a datetime without a time zone, and for times before 1970.
        """
        if isinstance(when, datetime):
            if when.utcoffset() is None:
                raise ValueError(
                    f"{when!r} has no time zone, so it names no moment; "
                    "give it one, as in datetime(2026, 1, 1, tzinfo=timezone.utc)"
                )
            when = (when - _EPOCH) // timedelta(milliseconds=1)
        if isinstance(when, bool) or not isinstance(when, int):
            raise TypeError(f"a timestamp is epoch milliseconds or a datetime, not {type(when).__name__}")
        if when < 0:
            raise ValueError(f"a timestamp is 0 or more milliseconds after 1970, not {when}")
        return OffsetsInitializer(timestamp_ms=when)

    @staticmethod
    def offsets(by_cluster: Offsets) -> OffsetsInitializer:
        """Exact offsets: ``{cluster: {topic: {partition: offset}}}``.

        Args:
            by_cluster: By cluster id, topic and partition number. -2 is earliest, -1 is latest.

        Raises:
            ValueError: if it is empty, or has a negative partition or an offset below -2.
        """
        if not by_cluster:
            raise ValueError("offsets are empty: give {cluster: {topic: {partition: offset}}}")
        return OffsetsInitializer(_json(_checked(by_cluster)))

    def to_options(self, kind: Kind) -> dict[str, str]:
        """The options that say so.

        Args:
            kind: ``starting`` or ``ending``.
        """
        if self.timestamp_ms is not None:
            return {f"{kind}Timestamp": str(self.timestamp_ms)}
        options = {f"{kind}Offsets": str(self.value)}
        if self.fallback is not None:
            options[FALLBACK] = self.fallback
        return options

    def to_metadata(self, cluster_id: str) -> str:
        """The text for ``starting_offsets`` and ``stopping_offsets`` of one cluster in metadata.

        Args:
            cluster_id: The cluster; of exact offsets only its own are taken.

        Raises:
            ValueError: for exact offsets without this cluster, and for a fallback, which only the option
                ``committedOffsetsFallback`` of the query can tell.
        """
        if self.timestamp_ms is not None:
            return f"timestamp:{self.timestamp_ms}"
        if self.fallback not in (None, "fail"):
            raise ValueError(
                f"cluster '{cluster_id}': metadata cannot tell the fallback '{self.fallback}' of committed "
                "offsets; set the query's option committedOffsetsFallback"
            )
        text = str(self.value)
        if not text.startswith("{"):
            return text
        by_cluster = json.loads(text)
        if cluster_id not in by_cluster:
            raise ValueError(f"cluster '{cluster_id}' has offsets of others only: {', '.join(by_cluster)}")
        return _json(by_cluster[cluster_id])


def _json(value: object) -> str:
    """JSON that is the same for the same input."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _checked(by_cluster: Offsets) -> dict[str, dict[str, dict[str, int]]]:
    checked: dict[str, dict[str, dict[str, int]]] = {}
    for cluster, topics in by_cluster.items():
        if not isinstance(topics, Mapping):
            raise TypeError(f"offsets of cluster '{cluster}' are {{topic: {{partition: offset}}}}")
        for topic, partitions in topics.items():
            where = f"cluster '{cluster}', topic '{topic}'"
            if not isinstance(partitions, Mapping):
                raise TypeError(f"offsets of {where} are {{partition: offset}}")
            for partition, offset in partitions.items():
                if not (_is_int(partition) and _is_int(offset)):
                    raise TypeError(f"{where}: partition and offset are ints, not {partition!r}: {offset!r}")
                if partition < 0 or offset < -2:
                    raise ValueError(f"{where}: no such partition or offset: {partition}: {offset}")
                checked.setdefault(cluster, {}).setdefault(topic, {})[str(partition)] = offset
    return checked


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
