"""Connects to Kafka brokers. It is the only module that needs the package confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as _OffsetSpec  # type: ignore[attr-defined]

from dynamic_kafka._tools.checkpoint.ends import EARLIEST, LATEST, Ends, Partition
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.settings import librdkafka


def end_offsets(properties: Mapping[str, str], partitions: list[Partition], timeout_s: float) -> Ends:
    """Requests the end offsets of one cluster.

    Args:
        properties: Properties of Kafka's Java clients, with ``bootstrap.servers``.
        partitions: Topics and partition numbers.
        timeout_s: Limit in seconds.
    """
    try:
        client = librdkafka(properties)
    except KafkaSettingsError as e:
        return Ends(missing=str(e))
    return offsets_at(properties, client, dict.fromkeys(partitions, LATEST), timeout_s)


def offsets_at(
    properties: Mapping[str, str], client: Mapping[str, str], asked: Mapping[Partition, int], timeout_s: float
) -> Ends:
    """Requests offsets of one cluster.

    Args:
        properties: Properties of Kafka's Java clients, with ``bootstrap.servers``.
        client: Those of librdkafka.
        asked: By topic and partition: earliest, latest, or a time in milliseconds since 1970-01-01 UTC. The answer
            is -1 for a partition without a record of this time or a later one.
        timeout_s: Limit in seconds.
    """
    # Connection errors are raised below; librdkafka would also print each attempt.
    config: dict[str, str | int | float | bool] = {**client, "client.id": "dynamic-kafka-cli", "log_level": 0}
    committed = properties.get("isolation.level", "").lower() == "read_committed"
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    deadline = time.monotonic() + timeout_s
    try:
        specs = {TopicPartition(topic, partition): _spec(at) for (topic, partition), at in asked.items()}
        admin = AdminClient(config)
        # Fails in time if all brokers are unreachable, unlike the futures of `list_offsets`.
        admin.list_topics(timeout=timeout_s)
        answers = admin.list_offsets(specs, isolation_level=level, request_timeout=timeout_s)
    except KafkaException as e:
        return Ends(missing=_reason(e, properties))
    found: dict[Partition, int] = {}
    missing: list[str] = []
    for of, answer in answers.items():
        try:
            found[(of.topic, of.partition)] = answer.result(max(0, deadline - time.monotonic())).offset
        except FutureTimeoutError:
            missing.append(f"{properties['bootstrap.servers']}: no answer within {timeout_s:g} s")
        except KafkaException as e:
            missing.append(_reason(e, properties))
    return Ends(found, missing[0] if missing else None)


def _spec(at: int) -> Any:
    if at == EARLIEST:
        return _OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    if at == LATEST:
        return _OffsetSpec.latest()  # type: ignore[no-untyped-call]
    return _OffsetSpec.for_timestamp(at)


def _reason(e: KafkaException, properties: Mapping[str, str]) -> str:
    return f"{properties['bootstrap.servers']}: {e.args[0].str()}"
