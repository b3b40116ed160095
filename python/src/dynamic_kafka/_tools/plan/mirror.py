"""``replacedClusterPolicy=mirror-maker``: where the checkpoints of MirrorMaker 2 say.

The connector's ``MirrorContinuation`` and ``MirrorTranslation`` decide the same.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.last_records import Partition
from dynamic_kafka._tools.plan.continuing import NotContinuedError, Replacement


@dataclass(frozen=True)
class MirroredTopics:
    """The names of topics with MirrorMaker's own policies.

    Attributes:
        is_identity: Whether topics keep their names.
        separator: Separator of the names.
        has_internal_separator: Whether it is also that of MirrorMaker's own topics.
    """

    is_identity: bool
    separator: str = "."
    has_internal_separator: bool = True

    def mirrored(self, alias: str, topic: str) -> str:
        """The name on the target of a topic of the source ``alias``."""
        return topic if self._keeps(topic) else f"{alias}{self.separator}{topic}"

    def upstream(self, topic: str) -> str | None:
        """The name on its source of a topic that was copied. None: it was not."""
        if self._keeps(topic):
            return topic
        _, found, name = topic.partition(self.separator)
        return name if found else None

    def checkpoints(self, alias: str) -> str:
        """The topic on the target with the checkpoints of the source ``alias``."""
        between = self.separator if self.has_internal_separator else "."
        return f"{alias}{between}checkpoints{between}internal"

    def _keeps(self, topic: str) -> bool:
        # Topics of heartbeats never keep their names.
        return self.is_identity and not topic.endswith("heartbeats")


@dataclass(frozen=True)
class Mirror:
    """What MirrorMaker has copied.

    Attributes:
        of: The replacement.
        group: The consumer group of the query.
        alias: How MirrorMaker calls the former cluster.
        names: How it names topics.
    """

    of: Replacement
    group: str
    alias: str
    names: MirroredTopics

    @property
    def checkpoints(self) -> str:
        """The topic with the checkpoints."""
        return self.names.checkpoints(self.alias)

    def question(self) -> Positions:
        """Returns the positions in the former cluster, by the names of the topics in the new one.

        Raises:
            NotContinuedError: if a topic has none there.
        """
        found: Positions = {}
        for topic, offsets in sorted(self.of.positions.items()):
            there, origin = self.names.mirrored(self.alias, topic), self.names.upstream(topic)
            if there in self.of.topics:
                found[there] = offsets
            elif topic in self.of.topics:
                raise NotContinuedError(
                    f"MirrorMaker copies topic '{topic}' of '{self.alias}' to topic '{there}', which the metadata "
                    "of the new cluster lack"
                )
            elif origin in self.of.topics:
                raise NotContinuedError(
                    f"topic '{topic}' of the former cluster was copied from topic '{origin}', and MirrorMaker "
                    "does not translate offsets back to where they came from"
                )
        return found

    def continuation(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> Positions:
        """Returns where the query continues.

        Args:
            records: Offset, key and value of the records of the checkpoint topic, in their order.

        Raises:
            NotContinuedError: if a position has no checkpoint.
        """
        positions = self.question()
        found, ahead = self._translated(positions, records)
        continued: Positions = {}
        for topic, offsets in sorted(positions.items()):
            # Nothing has been read below the first offset, so all of the new log is unread.
            for partition, at in sorted((p, at) for p, at in offsets.items() if at > 0):
                checked = self._checked(topic, partition, at, found, ahead)
                continued.setdefault(topic, {})[partition] = checked
        return continued

    def _translated(
        self, positions: Positions, records: Iterable[tuple[int, bytes, bytes | None]]
    ) -> tuple[dict[Partition, int], dict[Partition, int]]:
        """The newest offset in the new cluster, and the newest upstream one that is beyond the position."""
        found: dict[Partition, int] = {}
        ahead: dict[Partition, int] = {}
        for offset, key, value in records:
            try:
                group, topic, partition = _key(key)
                position = positions.get(topic, {}).get(partition)
                if group != self.group or position is None:
                    continue
                at = topic, partition
                if value is None:
                    found.pop(at, None)
                    ahead.pop(at, None)
                    continue
                upstream, downstream = _value(value)
            except (ValueError, struct.error) as e:
                raise NotContinuedError(
                    f"the record at offset {offset} of topic '{self.checkpoints}' is no checkpoint that this "
                    f"version knows: {e}"
                ) from None
            if upstream <= position:
                found[at] = downstream
            else:
                ahead[at] = upstream
        return found, ahead

    def _checked(
        self, topic: str, partition: int, at: int, found: dict[Partition, int], ahead: dict[Partition, int]
    ) -> int:
        where, key = f"topic '{topic}', partition {partition}", (topic, partition)
        if key in found:
            first, end = self.of.earliest.get(topic, {}).get(partition), self.of.ends.get(topic, {}).get(partition)
            says = f"{where}: the checkpoint of MirrorMaker has the offset {found[key]}, but"
            if first is not None and first > found[key]:
                raise NotContinuedError(f"{says} the earliest available offset is {first}")
            if end is not None and end < found[key]:
                raise NotContinuedError(f"{says} the latest offset is {end}")
            return found[key]
        if key in ahead:
            raise NotContinuedError(
                f"{where}: group '{self.group}' was committed ahead of the query. The checkpoint of MirrorMaker "
                f"is of offset {ahead[key]}, but the next offset to read was {at}"
            )
        raise NotContinuedError(
            f"{where}: topic '{self.checkpoints}' has no checkpoint of group '{self.group}' for an offset up to "
            f"{at}, the next one to read"
        )


def _key(data: bytes) -> tuple[str, str, int]:
    group, at = _text(data, 0)
    topic, at = _text(data, at)
    return group, topic, struct.unpack_from(">i", data, at)[0]


def _value(data: bytes) -> tuple[int, int]:
    (version,) = struct.unpack_from(">h", data)
    if version != 0:
        raise ValueError(f"its version is {version} instead of 0")
    upstream, downstream = struct.unpack_from(">qq", data, 2)
    return upstream, downstream


def _text(data: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", data, at)
    begin = at + 2
    if not 0 <= length <= len(data) - begin:
        raise ValueError(f"a text has the length {length}")
    return data[begin : begin + length].decode("utf-8", "replace"), begin + length
