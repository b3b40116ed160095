"""Runs the checks of all clusters of a document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dynamic_kafka._tools.doctor import network
from dynamic_kafka._tools.doctor.check import NAMES, Check, Result, run
from dynamic_kafka._tools.doctor.known import Known
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.settings import librdkafka
from dynamic_kafka.model import KafkaStream

if TYPE_CHECKING:
    from dynamic_kafka._tools.doctor.brokers import Brokers

_PREFIX = "dynamic-kafka"


@dataclass
class Cluster:
    """What streams say about a cluster: properties, and topics with whether they are written."""

    id: str
    properties: Mapping[str, str]
    topics: dict[str, bool] = field(default_factory=dict)
    patterns: dict[str, bool] = field(default_factory=dict)


def clusters_of(streams: Mapping[str, KafkaStream]) -> list[Cluster]:
    """The clusters that streams use, without removed ones, which no query contacts."""
    found: dict[str, Cluster] = {}
    for stream in streams.values():
        for id, entry in stream.clusters.items():
            if entry.state == "removed":
                continue
            cluster = found.setdefault(id, Cluster(id, entry.properties))
            for topic in entry.topics or (entry.partitions or {}):
                cluster.topics[topic] = cluster.topics.get(topic, False) or entry.write
            if entry.topic_pattern is not None:
                cluster.patterns[entry.topic_pattern] = entry.write
    return list(found.values())


def examine(
    clusters: list[Cluster], known: Mapping[str, Known], write_test: str | None, timeout_s: float
) -> list[Check]:
    """Examines clusters in parallel.

    Args:
        clusters: The clusters.
        known: What a checkpoint says of clusters, by cluster id.
        write_test: A topic to write to in a transaction that is aborted. None: nothing is written.
        timeout_s: Limit of each request.
    """
    if not clusters:
        return []
    with ThreadPoolExecutor(max_workers=min(len(clusters), 16)) as pool:
        found = pool.map(
            lambda c: list(run(c.id, _checks(c, known.get(c.id, Known()), write_test, timeout_s))), clusters
        )
        return _with_duplicates([check for checks in found for check in checks])


def _checks(
    cluster: Cluster, known: Known, write_test: str | None, timeout_s: float
) -> dict[str, Callable[[], Result]]:
    try:
        config = librdkafka(cluster.properties)
        servers = network.addresses(config.get("bootstrap.servers", ""))
    except KafkaSettingsError as e:
        return _only("dns", Result("failed", str(e), "correct the properties of the cluster"))
    except ValueError:
        return _only("dns", Result("failed", "bootstrap.servers is not host:port", "correct bootstrap.servers"))
    has_tls = config.get("security.protocol", "").upper().endswith("SSL")
    brokers: list[Brokers] = []

    def login() -> Result:
        from dynamic_kafka._tools.doctor.brokers import Brokers

        brokers.append(Brokers(config, timeout_s))
        result = brokers[0].login()
        if result.status == "failed" and not has_tls and network.speaks_tls(servers, timeout_s):
            return Result(
                "failed",
                "the port has TLS, but security.protocol has none",
                "correct security.protocol, or the port",
            )
        return result

    def tls() -> Result:
        return network.tls(servers, config, timeout_s) if has_tls else Result("ok", "security.protocol has no TLS")

    def transactional_ids() -> Result:
        if write_test is None:
            return Result("skipped", "only with --write-test TOPIC")
        return brokers[0].transactional_ids(_PREFIX, write_test)

    return {
        "dns": lambda: network.dns(servers),
        "tcp": lambda: network.tcp(servers, timeout_s),
        "tls": tls,
        "login": login,
        "versions": lambda: network.versions(servers, config, timeout_s),
        "topics": lambda: known.topics(brokers[0].topics(cluster.topics, cluster.patterns)),
        "groups": lambda: brokers[0].groups(cluster.properties.get("group.id")),
        "transactional_ids": transactional_ids,
        "cluster_id": lambda: brokers[0].cluster_id(known.cluster_id),
        "transaction_timeout": lambda: brokers[0].transaction_timeout(
            cluster.properties.get("transaction.timeout.ms")
        ),
        "advertised": lambda: _advertised(brokers[0].advertised(), timeout_s),
    }


def _only(name: str, result: Result) -> dict[str, Callable[[], Result]]:
    return dict.fromkeys(NAMES, lambda: result)


def _advertised(addresses: list[network.Address], timeout_s: float) -> Result:
    bad = network.unreachable(addresses, timeout_s)
    if not bad:
        return Result("ok", f"{len(addresses)} of {len(addresses)} brokers can be reached")
    remedy = "correct advertised.listeners of the brokers, or the names and routes of this machine"
    return Result("failed", f"brokers want to be reached at {'; '.join(bad)}", remedy)


def _with_duplicates(checks: list[Check]) -> list[Check]:
    """Two ids of one Kafka cluster are read twice where they share a topic."""
    first: dict[str, str] = {}
    found = []
    for check in checks:
        if check.check == "cluster_id" and check.status == "ok":
            id = check.message.partition(",")[0]
            other = first.setdefault(id, check.cluster)
            if other != check.cluster:
                text = f"{id}, as cluster {other}: two ids of one Kafka cluster"
                remedy = "remove one of them, or see allowDuplicateClusters"
                check = Check(check.cluster, check.check, "warning", text, remedy)
        found.append(check)
    return found
