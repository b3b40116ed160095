"""Makes the plan of a query: what its next batch would do with other metadata."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import CompositeOffset, Positions, Retained
from dynamic_kafka._tools.checkpoint.history import History, history_of
from dynamic_kafka._tools.checkpoint.last_records import LastRecord, Partition, records_read
from dynamic_kafka._tools.checkpoint.log import SourceId
from dynamic_kafka._tools.checkpoint.memory import Remembered, remembered
from dynamic_kafka._tools.checkpoint.migrated import is_migrated, mismatch
from dynamic_kafka._tools.plan.continuing import Replacement
from dynamic_kafka._tools.plan.error import PROCEDURE, PlanError
from dynamic_kafka._tools.plan.options import Options
from dynamic_kafka._tools.plan.replaced import continuation, continues
from dynamic_kafka._tools.plan.replacing import replacing
from dynamic_kafka._tools.plan.rules import Answer, Decision, Key, decide, returning
from dynamic_kafka._tools.plan.shares import granted
from dynamic_kafka._tools.plan.topology import missing_clusters, topology_of
from dynamic_kafka.model import KafkaStream

if TYPE_CHECKING:
    from dynamic_kafka._tools.plan.asking import Cluster, Topics


@dataclass
class Plan:
    """What the next batch would do. The lists are those of the JSON."""

    enters: list[dict[str, Any]] = field(default_factory=list)
    drains: list[dict[str, Any]] = field(default_factory=list)
    leaves: list[dict[str, Any]] = field(default_factory=list)
    lost_records: int = 0
    lost_bytes: int = 0
    rights: list[dict[str, str]] = field(default_factory=list)
    next_batch: dict[str, int] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    """What is not known although the rest is, for users."""


def make(
    checkpoint: Path,
    offsets: Mapping[SourceId, str],
    batch_ms: int,
    streams: Mapping[str, KafkaStream],
    timeout_s: float,
) -> Plan:
    """Asks the clusters, and decides.

    Args:
        checkpoint: Folder of the query's checkpoint.
        offsets: The newest composite offset of each source, by source.
        batch_ms: When the batch that they end was planned, in milliseconds since 1970-01-01 UTC; 0 if not known.
        streams: The metadata.
        timeout_s: Limit of each request.

    Raises:
        PlanError: if what the query would do is not known.
    """
    plan = Plan()
    for number, text in offsets.items():
        known, start = remembered(checkpoint, number), composite.read(text)
        wrong = mismatch(start, streams) if is_migrated(checkpoint, number) else None
        if wrong is not None:
            raise PlanError(wrong)
        options = Options(known.options)
        chosen = _chosen(known, options, streams)
        last = partial(records_read, checkpoint, number)
        history = history_of(checkpoint, number)
        _Source(start, known, last, batch_ms, options, history, chosen, timeout_s).add_to(plan)
        plan.assumed += [text for text in options.assumed if text not in plan.assumed]
    return plan


def _chosen(known: Remembered, options: Options, streams: Mapping[str, KafkaStream]) -> list[KafkaStream]:
    """The streams that the query reads."""
    if not known.streams:
        raise PlanError(
            "the checkpoint does not name the streams of the query: it does once the query has run with it"
        )
    lacking = sorted(known.streams - streams.keys())
    if lacking and not options.allows_missing_streams:
        raise PlanError(
            f"the file lacks stream '{lacking[0]}', which the query reads: that is a failure of the metadata "
            "service, unless allowMissingStreams is set"
        )
    chosen = [streams[id] for id in sorted(streams) if id in known.streams or options.subscribes(id)]
    gone = missing_clusters(known.current, chosen)
    if len(gone) > options.most_removed(len(known.current)):
        raise PlanError(
            f"the file lacks the clusters {', '.join(gone)}: that is a failure of the metadata service, unless "
            "maxRemovedClustersPerChange allows it; set their state to 'removed'"
        )
    return chosen


class _Source:
    def __init__(
        self,
        start: CompositeOffset,
        known: Remembered,
        last: Callable[[str, Positions], dict[Partition, LastRecord]],
        batch_ms: int,
        options: Options,
        history: History,
        streams: list[KafkaStream],
        timeout_s: float,
    ) -> None:
        left = history.pending(start.history) if start.history else 0
        if left or (start.history and not history.files):
            raise PlanError(
                f"the query still reads a history: {left} {'file is' if left == 1 else 'files are'} left"
            )
        if start.ends:
            raise PlanError("the query has stopping offsets, which are not among what is planned")
        start = _without_expired(start, options.retention_ms)
        self._options, self._last, self._batch_ms, self._history = options, last, batch_ms, history
        given = {id: entry.properties for stream in streams for id, entry in stream.clusters.items()}
        contacted = {id for s in streams for id, entry in s.clusters.items() if entry.state != "removed"}
        # The query does not ask a cluster that leaves at once.
        needed = {*start.clusters, *contacted} if options.drains_removed else contacted
        self._clusters = self._open(
            {*start.clusters, *contacted}, needed, {**known.properties, **given}, timeout_s
        )
        topology = topology_of(
            streams, lambda id: self._clusters[id].names if id in self._clusters else frozenset()
        )
        planned = replacing(start, topology, options.drains_removed)
        self._start, self._topology, self._former = planned.start, planned.topology, planned.former
        self._asked = {id: self._topics(id) for id in self._clusters}
        self._replaced = self._other_clusters()
        self._check_topics()
        self._check_renamed()

    def add_to(self, plan: Plan) -> None:
        answers = {id: self._answer(id) for id in self._clusters}
        decision = decide(self._start, self._topology, answers, self._options.drains_removed)
        if decision.expired:
            id, topic, partition = min(decision.expired)
            raise PlanError(
                f"cluster '{id}', topic '{topic}', partition {partition}: Kafka no longer has the position of the "
                "query"
            )
        self._add_entries(decision, plan)
        self._add_departures(decision, answers, plan)
        for id, topics in self._asked.items():
            named = self._topology.clusters.get(id, {})
            missing = sorted(topics.unreadable.intersection(named))
            plan.rights += [{"cluster": id, "topic": topic, "right": "Read"} for topic in missing]
            for topic in sorted(topics.hidden):
                plan.rights.append({"cluster": id, "topic": topic, "right": "Describe"})
                plan.unknown.append(
                    f"cluster '{id}', topic '{topic}': whether it exists is not known without the right Describe"
                )
        unread = {key: end - begin for key, (begin, end) in decision.reads.items()}
        for (id, _, _), records in granted(unread, self._options.limit, self._options.limit_of).items():
            plan.next_batch[id] = plan.next_batch.get(id, 0) + records

    @staticmethod
    def _open(
        ids: Iterable[str], needed: Collection[str], properties: Mapping[str, Mapping[str, str]], timeout_s: float
    ) -> dict[str, Cluster]:
        from dynamic_kafka._tools.plan.asking import Cluster

        def opened(id: str) -> Cluster | None:
            try:
                if "bootstrap.servers" not in properties.get(id, {}):
                    raise PlanError(f"neither the file nor the checkpoint has the address of cluster '{id}'")
                return Cluster(id, properties[id], timeout_s)
            except PlanError:
                if id in needed:
                    raise
                return None

        chosen = sorted(ids)
        with ThreadPoolExecutor(max_workers=16) as pool:
            found = zip(chosen, pool.map(opened, chosen), strict=True)
            return {id: cluster for id, cluster in found if cluster is not None}

    def _topics(self, id: str) -> Topics:
        retained = self._start.retained.get(id)
        kept = retained.topics if retained is not None else {}
        return self._clusters[id].topics(
            {*self._start.clusters.get(id, {}), *self._topology.clusters.get(id, {}), *kept}
        )

    def _other_clusters(self) -> dict[str, str]:
        """The ids that lead to another Kafka cluster than the one that was read, with a text about it."""
        found = {}
        for id, asked in self._asked.items():
            known = self._start.identities.get(id)
            if known is None or None in (known.cluster, asked.kafka_id) or known.cluster == asked.kafka_id:
                continue
            found[id] = (
                f"cluster '{id}' is another Kafka cluster than the one that was read: {asked.kafka_id} instead of "
                f"{known.cluster}"
            )
        return found

    def _check_topics(self) -> None:
        for id, found in self._asked.items():
            if id in self._replaced:
                continue
            known = self._start.identities.get(id)
            ids = dict(known.topics) if known is not None else {}
            retained = self._start.retained.get(id)
            ids |= {t: of.id for t, of in (retained.topics if retained else {}).items() if of.id and t not in ids}
            for topic, topic_id in ids.items():
                if found.ids.get(topic, topic_id) != topic_id:
                    raise PlanError(f"cluster '{id}': topic '{topic}' was recreated")

    def _check_renamed(self) -> None:
        """Fails for a Kafka cluster under another id, whose positions the query recognizes."""
        for id in self._topology.clusters:
            found = self._asked[id].kafka_id
            others = [
                other
                for other, of in self._start.identities.items()
                if other != id and found and of.cluster == found
            ]
            gone = [other for other in others if other not in self._topology.clusters]
            if gone and any(self._is_new(id, topic) for topic in self._topology.clusters[id]):
                raise PlanError(
                    f"cluster '{id}' is the Kafka cluster that was cluster '{gone[0]}': topics that both have "
                    f"continue at their positions, which {PROCEDURE} plans"
                )

    def _answer(self, id: str) -> Answer:
        cluster, topics = self._clusters[id], self._asked[id].ids
        ends, earliest = cluster.ends(topics), cluster.earliest(topics)
        named = self._topology.clusters.get(id, {})
        former = self._former.get(id, id)
        if id in self._replaced:
            topics_read = {*named, *self._start.clusters.get(id, {})}
            continued = self._continuation(id, former, topics_read, ends, earliest, self._replaced[id])
            return Answer(ends, earliest, continued=continued)
        if id in self._former:
            about = f"cluster '{id}' replaces cluster '{former}'"
            found = self._continuation(id, former, named, ends, earliest, about)
            entering = {
                topic: {p: min(at, ends[topic].get(p, at)) for p, at in of.items()} for topic, of in found.items()
            }
            return Answer(ends, earliest, entering)
        self._check_returning(id, ends, earliest)
        starts = {
            topic: self._start_of(id, topic) for topic in topics if topic in named and self._is_new(id, topic)
        }
        return Answer(ends, earliest, cluster.starting(starts, ends))

    def _continuation(
        self,
        id: str,
        former: str,
        topics: Iterable[str],
        ends: Positions,
        earliest: Positions,
        about: str,
        returning: Positions | None = None,
    ) -> Positions:
        positions = returning
        if positions is None:
            kept = self._start.retained.get(former)
            positions = {topic: dict(of.offsets) for topic, of in (kept.topics if kept else {}).items()}
            for topic, of in self._start.clusters.get(former, {}).items():
                positions[topic] = positions.get(topic, {}) | of
        replacement = Replacement(
            former, positions, self._last(former, positions), self._batch_ms, frozenset(topics), ends, earliest
        )
        return continuation(replacement, self._options, self._clusters[id], about)

    def _check_returning(self, id: str, ends: Positions, earliest: Positions) -> None:
        """With ``same-offsets``, the log may have been cut and filled again since the cluster was left."""
        if self._options.replaced_policy != "same-offsets":
            return
        back = returning(id, self._start, self._topology, self._options.drains_removed)
        there = {
            topic: {
                p: at
                for p, at in of.items()
                if earliest.get(topic, {}).get(p, at) <= at <= ends.get(topic, {}).get(p, -1)
            }
            for topic, of in back.items()
        }
        there = {topic: of for topic, of in there.items() if of}
        if there:
            about = f"cluster '{id}' was left, and is read again"
            self._continuation(id, id, there, ends, earliest, about, there)

    def _is_new(self, id: str, topic: str) -> bool:
        retained = self._start.retained.get(id)
        return topic not in self._start.clusters.get(id, {}) and not (retained and topic in retained.topics)

    def _start_of(self, id: str, topic: str) -> str:
        if id in self._former or id in self._replaced:
            return self._options.replaced_policy
        if (id, topic) in self._history.followed:
            raise PlanError(f"cluster '{id}', topic '{topic}' follows on a history, which {PROCEDURE} plans")
        is_known = id in self._start.clusters or id in self._start.retained
        given = self._topology.clusters.get(id, {}).get(topic)
        return self._options.start_of(id, given.starting_offsets if given is not None else None, is_known)

    def _add_entries(self, decision: Decision, plan: Plan) -> None:
        for key, position in sorted(decision.enters.items()):
            id, topic, _ = key
            is_new = id in self._replaced or self._is_new(id, topic)
            start = self._start_of(id, topic) if is_new else "earliest"
            by = "retained" if key in decision.returns else start
            plan.enters.append({**_names(key), "position": position, "by": by})
        for key, target in sorted(decision.drains.items()):
            id, topic, partition = key
            at = decision.reads.get(
                key, (self._start.clusters.get(id, {}).get(topic, {}).get(partition, target), 0)
            )
            plan.drains.append({**_names(key), "position": at[0], "target": target})

    def _add_departures(self, decision: Decision, answers: Mapping[str, Answer], plan: Plan) -> None:
        continued = set(self._former.values()) if continues(self._options.replaced_policy) else set()
        for key, position in sorted(decision.leaves.items()):
            id, topic, partition = key
            # What the former cluster has is not known to the new one, which has its id.
            asked = {} if id in self._replaced or id not in answers else answers[id].ends
            end = asked.get(topic, {}).get(partition)
            if id not in answers and key not in decision.drained and id not in continued:
                plan.unknown.append(
                    f"{_place(key)}: how many records are unread is not known, because it does not answer"
                )
            records = None if end is None else max(0, end - position)
            plan.leaves.append({**_names(key), "position": position, "end": end, "records": records})
            if records and key not in decision.drained and id not in continued:
                plan.lost_records += records
                plan.lost_bytes += round(records * self._clusters[id].record_bytes(topic, partition, position))


def _place(key: Key) -> str:
    return "cluster '{}', topic '{}', partition {}".format(*key)


def _names(key: Key) -> dict[str, Any]:
    return dict(zip(("cluster", "topic", "partition"), key, strict=True))


def _without_expired(start: CompositeOffset, retention_ms: int) -> CompositeOffset:
    """The positions without those that are not retained any more."""
    if retention_ms < 0:
        return start
    now_ms = time.time() * 1000
    kept = {
        id: Retained(
            {topic: at for topic, at in retained.topics.items() if now_ms - at.since_ms < retention_ms},
            retained.drained,
        )
        for id, retained in start.retained.items()
    }
    return replace(start, retained=kept)
