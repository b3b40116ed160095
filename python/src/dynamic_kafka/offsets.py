"""Where reading starts and ends."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal

Kind = Literal["starting", "ending"]
Fallback = Literal["fail", "earliest", "latest"]
Offsets = Mapping[str, Mapping[str, Mapping[int, int]]]
OffsetsFunction = Callable[[str, str, Sequence[int]], Mapping[int, int]]

FALLBACK = "committedOffsetsFallback"
FUNCTION = "function:"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class OffsetsInitializer:
    """Where reading starts or ends. Immutable; the static methods create it. After Flink's ``OffsetsInitializer``.

    Attributes:
        value: ``earliest``, ``latest``, ``committed``, or JSON ``{cluster: {topic: {partition: offset}}}``. None
            for a timestamp.
        timestamp_ms: Milliseconds since 1970-01-01 UTC. None for other positions.
        fallback: For ``committed``: where a partition without a committed offset starts or ends.
        function: The function that determines the offsets; ``value`` is then its name in options.
    """

    value: str | None = None
    timestamp_ms: int | None = None
    fallback: Fallback | None = None
    function: OffsetsFunction | None = None

    @staticmethod
    def earliest() -> OffsetsInitializer:
        """The first record of each partition that Kafka retains."""
        return OffsetsInitializer("earliest")

    @staticmethod
    def latest() -> OffsetsInitializer:
        """The end of each partition when the query first starts; it is determined once."""
        return OffsetsInitializer("latest")

    @staticmethod
    def committed_offsets(fallback: Fallback = "fail") -> OffsetsInitializer:
        """The offsets that the query's consumer group has committed on each cluster (KIP-396).

        The group is the option ``commitGroupId``, or ``kafka.group.id`` if that is not set.

        Args:
            fallback: For partitions without a committed offset: ``fail`` (default), ``earliest`` or ``latest``.

        Raises:
            ValueError: if ``fallback`` is another text.
        """
        if fallback not in ("fail", "earliest", "latest"):
            raise ValueError(f"fallback must be 'fail', 'earliest' or 'latest', not {fallback!r}")
        return OffsetsInitializer("committed", fallback=fallback)

    @staticmethod
    def timestamp(when: int | datetime) -> OffsetsInitializer:
        """The first record of each partition with this timestamp or a later one (KIP-79), else its end.

        Args:
            when: Milliseconds since 1970-01-01 UTC, or a datetime with a time zone.

        Raises:
            TypeError: if ``when`` is neither an int nor a datetime.
            ValueError: if a datetime has no time zone, or the time is before 1970.
        """
        if isinstance(when, datetime):
            if when.utcoffset() is None:
                raise ValueError(
                    f"{when!r} has no time zone; set one, for example datetime(2026, 1, 1, tzinfo=timezone.utc)"
                )
            when = (when - _EPOCH) // timedelta(milliseconds=1)
        if isinstance(when, bool) or not isinstance(when, int):
            raise TypeError(f"a timestamp must be epoch milliseconds or a datetime, not {type(when).__name__}")
        if when < 0:
            raise ValueError(f"a timestamp must be 0 or more milliseconds since 1970, not {when}")
        return OffsetsInitializer(timestamp_ms=when)

    @staticmethod
    def offsets(by_cluster: Offsets) -> OffsetsInitializer:
        """Exact offsets.

        Args:
            by_cluster: ``{cluster id: {topic: {partition: offset}}}`` with ints for partition and offset. Offset
                -2 is earliest, -1 is latest.

        Raises:
            TypeError: if ``by_cluster`` has another shape.
            ValueError: if ``by_cluster`` is empty, or has a negative partition or an offset below -2.
        """
        if not by_cluster:
            raise ValueError("offsets are empty: pass {cluster: {topic: {partition: offset}}}")
        return OffsetsInitializer(_json(_checked(by_cluster)))

    @staticmethod
    def of(function: OffsetsFunction) -> OffsetsInitializer:
        """Offsets that your own function determines, once for what a query finds at its first start.

        It is called on the driver, so that classic sessions only support it: with Spark Connect, use the option
        ``startingOffsets`` with ``class:<name>``, a class on the class path of the server.

        Args:
            function: Takes a cluster id, a topic and its partitions, and returns ``{partition: offset}`` with
                exactly these partitions. Offset -2 is earliest, -1 is latest.

        Raises:
            TypeError: if ``function`` cannot be called.
        """
        if not callable(function):
            raise TypeError(f"OffsetsInitializer.of takes a function, not {type(function).__name__}")
        return OffsetsInitializer(f"{FUNCTION}{uuid.uuid4()}", function=function)

    def to_options(self, kind: Kind) -> dict[str, str]:
        """Returns the options of a query, by name.

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
        """Returns the value of ``starting_offsets`` or ``stopping_offsets`` of one cluster in metadata.

        Args:
            cluster_id: The cluster. Of exact offsets, only those of this cluster are used.

        Raises:
            ValueError: if exact offsets do not contain this cluster, if a function determines the offsets, or if a
                fallback other than ``fail`` is set, which only the query's option ``committedOffsetsFallback`` can
                set.
        """
        if self.function is not None:
            raise ValueError(f"cluster '{cluster_id}': a function that determines offsets cannot be in metadata")
        if self.timestamp_ms is not None:
            return f"timestamp:{self.timestamp_ms}"
        if self.fallback not in (None, "fail"):
            raise ValueError(
                f"cluster '{cluster_id}': metadata has no fallback for committed offsets ('{self.fallback}'); "
                "set the query's option committedOffsetsFallback"
            )
        text = str(self.value)
        if not text.startswith("{"):
            return text
        by_cluster = json.loads(text)
        if cluster_id not in by_cluster:
            raise ValueError(f"the offsets do not contain cluster '{cluster_id}', only {', '.join(by_cluster)}")
        return _json(by_cluster[cluster_id])


def _json(value: object) -> str:
    """Returns the same JSON for equal input."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _checked(by_cluster: Offsets) -> dict[str, dict[str, dict[str, int]]]:
    checked: dict[str, dict[str, dict[str, int]]] = {}
    for cluster, topics in by_cluster.items():
        if not isinstance(topics, Mapping):
            raise TypeError(f"offsets of cluster '{cluster}' must be {{topic: {{partition: offset}}}}")
        for topic, partitions in topics.items():
            where = f"cluster '{cluster}', topic '{topic}'"
            if not isinstance(partitions, Mapping):
                raise TypeError(f"offsets of {where} must be {{partition: offset}}")
            for partition, offset in partitions.items():
                if not (_is_int(partition) and _is_int(offset)):
                    raise TypeError(f"{where}: partition and offset must be ints, not {partition!r}: {offset!r}")
                if partition < 0 or offset < -2:
                    raise ValueError(
                        f"{where}: partition must be 0 or more and offset -2 or more, not {partition}: {offset}"
                    )
                checked.setdefault(cluster, {}).setdefault(topic, {})[str(partition)] = offset
    return checked


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
