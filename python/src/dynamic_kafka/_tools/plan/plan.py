"""Makes the plan of a query: what its next batch would do with other metadata."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import CompositeOffset, Retained
from dynamic_kafka._tools.checkpoint.log import SourceId
from dynamic_kafka._tools.checkpoint.memory import Remembered, remembered
from dynamic_kafka._tools.plan.error import PlanError
from dynamic_kafka._tools.plan.options import Options
from dynamic_kafka._tools.plan.replacing import replacing
from dynamic_kafka._tools.plan.rules import Answer, Decision, Key, decide
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


def make(
    checkpoint: Path, offsets: Mapping[SourceId, str], streams: Mapping[str, KafkaStream], timeout_s: float
) -> Plan:
    """Asks the clusters, and decides.

    Args:
        checkpoint: Folder of the query's checkpoint.
        offsets: The newest composite offset of each source, by source.
        streams: The metadata.
        timeout_s: Limit of each request.

    Raises:
        PlanError: if what the query would do is not known.
    """
    plan = Plan()
    for number, text in offsets.items():
        known = remembered(checkpoint, number)
        options = Options(known.options)
        chosen = _chosen(known, options, streams)
        _Source(composite.read(text), known, options, chosen, timeout_s).add_to(plan)
        plan.assumed += [text for text in options.assumed if text not in plan.assumed]
    return plan


def _chosen(known: Remembered, options: Options, streams: Mapping[str, KafkaStream]) -> list[KafkaStream]:
    """The streams that the query reads."""
    if not known.streams:
        raise PlanError("the checkpoint does not name the streams of the query")
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
        options: Options,
        streams: list[KafkaStream],
        timeout_s: float,
    ) -> None:
        if start.history:
            raise PlanError("the query still reads a history")
        if start.ends:
            raise PlanError("the query has stopping offsets, which are not among what is planned")
        start = _without_expired(start, options.retention_ms)
        self._options = options
        given = {id: entry.properties for stream in streams for id, entry in stream.clusters.items()}
        contacted = {id for s in streams for id, entry in s.clusters.items() if entry.state != "removed"}
        self._clusters = self._open({*start.clusters, *contacted}, {**known.properties, **given}, timeout_s)
        topology = topology_of(
            streams, lambda id: self._clusters[id].names if id in self._clusters else frozenset()
        )
        planned = replacing(start, topology, options.drains_removed)
        self._start, self._topology = planned.start, planned.topology
        self._asked = {id: self._topics(id) for id in self._clusters}
        self._check_identities()
        self._check_renamed()
        self._replacing = {id: self._policy_of(id, former) for id, former in planned.former.items()}

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
        unread = {key: end - begin for key, (begin, end) in decision.reads.items()}
        for (id, _, _), records in granted(unread, self._options.limit, self._options.limit_of).items():
            plan.next_batch[id] = plan.next_batch.get(id, 0) + records

    @staticmethod
    def _open(
        ids: Iterable[str], properties: Mapping[str, Mapping[str, str]], timeout_s: float
    ) -> dict[str, Cluster]:
        from dynamic_kafka._tools.plan.asking import Cluster

        chosen = sorted(ids)
        for id in chosen:
            if "bootstrap.servers" not in properties.get(id, {}):
                raise PlanError(f"neither the file nor the checkpoint has the address of cluster '{id}'")
        with ThreadPoolExecutor(max_workers=16) as pool:
            return dict(
                zip(chosen, pool.map(lambda id: Cluster(id, properties[id], timeout_s), chosen), strict=True)
            )

    def _topics(self, id: str) -> Topics:
        retained = self._start.retained.get(id)
        kept = retained.topics if retained is not None else {}
        return self._clusters[id].topics(
            {*self._start.clusters.get(id, {}), *self._topology.clusters.get(id, {}), *kept}
        )

    def _check_identities(self) -> None:
        for id, found in self._asked.items():
            known = self._start.identities.get(id)
            if (
                known is not None
                and None not in (known.cluster, found.kafka_id)
                and known.cluster != found.kafka_id
            ):
                policy = self._options.replaced_policy
                raise PlanError(
                    f"cluster '{id}' is another Kafka cluster than the one that was read: {found.kafka_id} "
                    f"instead of {known.cluster}. {_refused(policy)}"
                )
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
                    "continue at their positions, which is not planned"
                )

    def _policy_of(self, id: str, former: str) -> str:
        policy = self._options.replaced_policy
        if policy not in _PLANNED_POLICIES:
            raise PlanError(f"cluster '{id}' replaces cluster '{former}'. {_refused(policy)}")
        return policy

    def _answer(self, id: str) -> Answer:
        cluster, topics = self._clusters[id], self._asked[id].ids
        ends = cluster.ends(topics)
        named = self._topology.clusters.get(id, {})
        starts = {
            topic: self._start_of(id, topic) for topic in topics if topic in named and self._is_new(id, topic)
        }
        earliest = cluster.earliest(topics)
        if id in self._replacing:
            return Answer(ends, earliest, ends if self._replacing[id] == "latest" else earliest)
        return Answer(ends, earliest, cluster.starting(starts, ends))

    def _is_new(self, id: str, topic: str) -> bool:
        retained = self._start.retained.get(id)
        return topic not in self._start.clusters.get(id, {}) and not (retained and topic in retained.topics)

    def _start_of(self, id: str, topic: str) -> str:
        if id in self._replacing:
            return self._replacing[id]
        is_known = id in self._start.clusters or id in self._start.retained
        given = self._topology.clusters.get(id, {}).get(topic)
        return self._options.start_of(id, given.starting_offsets if given is not None else None, is_known)

    def _add_entries(self, decision: Decision, plan: Plan) -> None:
        for key, position in sorted(decision.enters.items()):
            id, topic, _ = key
            start = self._start_of(id, topic) if self._is_new(id, topic) else "earliest"
            by = "retained" if key in decision.returns else start
            plan.enters.append({**_names(key), "position": position, "by": by})
        for key, target in sorted(decision.drains.items()):
            id, topic, partition = key
            at = decision.reads.get(
                key, (self._start.clusters.get(id, {}).get(topic, {}).get(partition, target), 0)
            )
            plan.drains.append({**_names(key), "position": at[0], "target": target})

    def _add_departures(self, decision: Decision, answers: Mapping[str, Answer], plan: Plan) -> None:
        for key, position in sorted(decision.leaves.items()):
            id, topic, partition = key
            end = answers[id].ends.get(topic, {}).get(partition) if id in answers else None
            records = None if end is None else max(0, end - position)
            plan.leaves.append({**_names(key), "position": position, "end": end, "records": records})
            if records and key not in decision.drained:
                plan.lost_records += records
                plan.lost_bytes += round(records * self._clusters[id].record_bytes(topic, partition, position))


# What these mean follows from the offsets of the new cluster alone.
_PLANNED_POLICIES = ("earliest", "latest")


def _refused(policy: str) -> str:
    if policy == "fail":
        return "replacedClusterPolicy is 'fail', so the query fails with CLUSTER_REPLACED"
    return f"Where the query continues by replacedClusterPolicy '{policy}' is decided when it runs"


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
