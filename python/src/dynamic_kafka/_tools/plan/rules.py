"""What the next batch of a query does. The connector's ``Reconcile`` and ``NextOffset`` decide the same.

``tests/conformance/plan`` has their decisions. What they decide about recreated topics and stopping offsets is not
here: where one of these occurs, ``plan`` cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from dynamic_kafka._tools.checkpoint.composite import CompositeOffset, Positions

Key = tuple[str, str, int]
"""Cluster, topic and partition."""


@dataclass(frozen=True)
class Topic:
    """A topic of the metadata on one cluster, over all streams of the query.

    Attributes:
        draining: Whether every stream that has it is draining.
        partitions: The partitions that are read. None: all.
        starting_offsets: Where it starts if it is new to the query, in the metadata. None: the query decides.
        stream: The first stream that has it.
    """

    draining: bool = False
    partitions: frozenset[int] | None = None
    starting_offsets: str | None = None
    stream: str = ""

    def reads(self, partition: int) -> bool:
        """Whether a partition is read."""
        return self.partitions is None or partition in self.partitions


@dataclass(frozen=True)
class Topology:
    """The clusters and topics that the streams of a query have.

    Attributes:
        clusters: Topics by cluster id and name.
        removed: Topics with ``state: removed``, by cluster id.
        replaces: The id of the cluster whose place a cluster takes, by its id.
        streams: The streams that have a cluster, by its id.
    """

    clusters: Mapping[str, Mapping[str, Topic]]
    removed: Mapping[str, Set[str]] = field(default_factory=dict)
    replaces: Mapping[str, str] = field(default_factory=dict)
    streams: Mapping[str, Set[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What a cluster has. A topic that is absent does not exist.

    Attributes:
        ends: End offsets.
        earliest: Earliest offsets of the same partitions.
        entering: Where partitions of new topics start; a partition that is absent starts at its beginning.
        continued: If the cluster is another Kafka cluster than before: where partitions of all topics continue; a
            partition that is absent is read from its beginning. None: it is the same.
    """

    ends: Positions
    earliest: Positions
    entering: Positions = field(default_factory=dict)
    continued: Positions | None = None


@dataclass(frozen=True)
class Decision:
    """What the next batch does.

    Attributes:
        enters: Where partitions enter, or enter again.
        returns: Those among them that continue at a retained position.
        drains: Up to which offsets partitions are drained.
        leaves: Positions of partitions that are not read any more.
        drained: Those among them that were read up to their drain target.
        reads: The offsets from which, and up to which, partitions can be read.
        expired: Partitions whose position Kafka no longer has.
    """

    enters: dict[Key, int] = field(default_factory=dict)
    returns: set[Key] = field(default_factory=set)
    drains: dict[Key, int] = field(default_factory=dict)
    leaves: dict[Key, int] = field(default_factory=dict)
    drained: set[Key] = field(default_factory=set)
    reads: dict[Key, tuple[int, int]] = field(default_factory=dict)
    expired: set[Key] = field(default_factory=set)


def decide(
    start: CompositeOffset, topology: Topology, answers: Mapping[str, Answer], drain_removed: bool
) -> Decision:
    """Returns what the next batch does.

    Args:
        start: The end of the newest batch.
        topology: The metadata.
        answers: The answers of clusters by cluster id; one that is absent is unreachable.
        drain_removed: Whether what leaves the metadata is drained (`removedClusterPolicy=drain`).
    """
    decision = Decision()
    for id in sorted({*start.clusters, *start.retained, *topology.clusters}):
        _Cluster(id, start, topology, drain_removed).decide(answers.get(id), decision)
    return decision


def returning(id: str, start: CompositeOffset, topology: Topology, drain_removed: bool) -> Positions:
    """The retained positions of a cluster at which topics are read again."""
    return _Cluster(id, start, topology, drain_removed)._returning


class _Cluster:
    def __init__(self, id: str, start: CompositeOffset, topology: Topology, drain_removed: bool) -> None:
        self._id = id
        self._named = topology.clusters.get(id, {})
        named = self._named
        before = start.clusters.get(id, {})
        live = _only(before, named)
        self._dropped = _without(before, live)
        old_targets = start.draining.get(id, {})
        kept = start.retained.get(id)
        drained = kept.drained if kept is not None else frozenset()
        removed = topology.removed.get(id, frozenset())

        def to_its_end(topic: str) -> bool:
            if topic in named:
                return named[topic].draining
            return drain_removed and topic not in removed

        def reached(topic: str) -> bool:
            target = old_targets.get(topic, {})
            return bool(target) and all(at >= target.get(p, 0) for p, at in live[topic].items())

        stay = {topic for topic in live if (not reached(topic) if to_its_end(topic) else topic in named)}
        self._leaving = {topic: at for topic, at in live.items() if topic not in stay}
        self._drained = {topic: at for topic, at in self._leaving.items() if to_its_end(topic)}
        absent = named.keys() - live.keys()
        away = {topic for topic in absent if named[topic].draining and topic in drained}
        returnable = _only({topic: of.offsets for topic, of in kept.topics.items()} if kept else {}, named)
        back = (absent - away) & returnable.keys()
        self._fresh = absent - away - back
        self._targets = {t: at for t, at in old_targets.items() if t in stay and to_its_end(t)}
        self._staying = {topic: live[topic] for topic in stay}
        self._returning = {
            topic: at
            for topic, at in returnable.items()
            if topic in back or (topic in stay and topic not in self._targets)
        }
        reading = stay | back | self._fresh
        self._newly_draining = {t for t in reading if to_its_end(t) and t not in self._targets}
        self._topics = sorted({*self._staying, *self._returning, *self._fresh})

    def decide(self, answer: Answer | None, to: Decision) -> None:
        for gone in (self._leaving, self._dropped):
            to.leaves.update(self._keys(gone))
        to.drained.update(self._keys(self._drained))
        if answer is None:
            to.drains.update(self._keys(self._targets))
            return
        for topic in self._topics:
            if topic not in answer.ends:
                continue
            if answer.continued is None:
                self._read(topic, answer, to)
            else:
                self._renew(topic, answer, answer.continued, to)
        if answer.continued is not None:
            return
        for topic, targets in self._targets.items():
            ends = self._ends(topic, answer)
            for partition, target in targets.items():
                to.drains[self._id, topic, partition] = min(ends.get(partition, target), target)

    def _read(self, topic: str, answer: Answer, to: Decision) -> None:
        returning = self._returning.get(topic, {})
        known = {**self._staying.get(topic, {}), **returning}
        ends = self._ends(topic, answer)
        earliest = answer.earliest.get(topic, {})
        targets = self._targets.get(topic, {})
        for partition, end in sorted(ends.items()):
            key = self._id, topic, partition
            if partition in known:
                at = known[partition]
                first = earliest.get(partition, at)
                is_there = first <= at <= end
                begin = at if is_there else first
                if not is_there:
                    to.expired.add(key)
                if not is_there or partition in returning:
                    to.enters[key] = begin
                if is_there and partition in returning:
                    to.returns.add(key)
            elif targets:
                # A draining topic is read up to its targets, without partitions that are added later.
                continue
            else:
                asked = None if known else answer.entering.get(topic, {}).get(partition)
                begin = asked if asked is not None else earliest.get(partition, end)
                to.enters[key] = begin
            last = max(begin, min(end, targets.get(partition, end)))
            to.reads[key] = begin, last
            if topic in self._newly_draining:
                to.drains[key] = last

    def _renew(self, topic: str, answer: Answer, continued: Positions, to: Decision) -> None:
        """A topic of another Kafka cluster: former positions and drain targets mean nothing in it."""
        ends = self._ends(topic, answer)
        for partition, end in sorted(ends.items()):
            key = self._id, topic, partition
            first = answer.earliest.get(topic, {}).get(partition, end)
            begin = continued.get(topic, {}).get(partition, first)
            to.enters[key] = begin
            to.reads[key] = begin, max(begin, end)
            if topic in self._newly_draining or topic in self._targets:
                to.drains[key] = max(begin, end)
        staying = self._staying.get(topic, {})
        to.leaves.update(self._keys({topic: {p: at for p, at in staying.items() if p not in ends}}))

    def _ends(self, topic: str, answer: Answer) -> dict[int, int]:
        """The end offsets of the partitions that are read."""
        named = self._named.get(topic)
        ends = answer.ends.get(topic, {})
        return {p: end for p, end in ends.items() if named is None or named.reads(p)}

    def _keys(self, positions: Positions) -> dict[Key, int]:
        return {(self._id, topic, p): at for topic, of in positions.items() for p, at in of.items()}


def _only(positions: Positions, named: Mapping[str, Topic]) -> Positions:
    """Positions of the partitions that the metadata selects, and of topics that it does not name."""
    found = {
        topic: {p: at for p, at in of.items() if topic not in named or named[topic].reads(p)}
        for topic, of in positions.items()
    }
    return {topic: of for topic, of in found.items() if of}


def _without(positions: Positions, other: Positions) -> Positions:
    return {
        topic: {p: at for p, at in of.items() if p not in other.get(topic, {})} for topic, of in positions.items()
    }
