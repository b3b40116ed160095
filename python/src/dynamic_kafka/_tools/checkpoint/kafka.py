"""Connects to Kafka brokers. It is the only module that needs the package confluent-kafka."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin import OffsetSpec as _OffsetSpec  # type: ignore[attr-defined]

from dynamic_kafka._tools.checkpoint.ends import Ends, Partition
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.settings import librdkafka

_LATEST = _OffsetSpec.latest()  # type: ignore[no-untyped-call]


def end_offsets(properties: Mapping[str, str], partitions: list[Partition], timeout_s: float) -> Ends:
    """Requests the end offsets of one cluster.

    Args:
        properties: Properties of Kafka's Java clients, with ``bootstrap.servers``.
        partitions: Topics and partition numbers.
        timeout_s: Limit in seconds.
    """
    try:
        config: dict[str, str | int | float | bool] = {**librdkafka(properties)}
    except KafkaSettingsError as e:
        return Ends(missing=str(e))
    # Connection errors are raised below; librdkafka would also print each attempt.
    config |= {"client.id": "dynamic-kafka-cli", "log_level": 0}
    committed = properties.get("isolation.level", "").lower() == "read_committed"
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    deadline = time.monotonic() + timeout_s
    try:
        latest = {TopicPartition(topic, partition): _LATEST for topic, partition in partitions}
        client = AdminClient(config)
        # Fails in time if all brokers are unreachable, unlike the futures of `list_offsets`.
        client.list_topics(timeout=timeout_s)
        answers = client.list_offsets(latest, isolation_level=level, request_timeout=timeout_s)
    except KafkaException as e:
        return Ends(missing=_reason(e, properties))
    found: dict[Partition, int] = {}
    missing: list[str] = []
    for asked, answer in answers.items():
        try:
            found[(asked.topic, asked.partition)] = answer.result(max(0, deadline - time.monotonic())).offset
        except FutureTimeoutError:
            missing.append(f"{properties['bootstrap.servers']}: no answer within {timeout_s:g} s")
        except KafkaException as e:
            missing.append(_reason(e, properties))
    return Ends(found, missing[0] if missing else None)


def _reason(e: KafkaException, properties: Mapping[str, str]) -> str:
    return f"{properties['bootstrap.servers']}: {e.args[0].str()}"
