"""Writes records to a topic that a metadata service reads."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from dynamic_kafka._tools.kafka.settings import librdkafka

# Fatal errors are logged at any level.
_SILENT = logging.Logger("dynamic-kafka-cli")
_SILENT.addHandler(logging.NullHandler())


class PublishError(Exception):
    """The topic cannot be used, or did not take the records."""


def publish(properties: Mapping[str, str], topic: str, values: Mapping[str, str | None], timeout_s: float) -> None:
    """Writes a record for each stream id; None removes the stream.

    Raises:
        PublishError: if the topic is not one of metadata, or a record was not written.
        KafkaSettingsError: if a property has no equivalent in Python's client.
    """
    # The errors of the client are those of this function.
    settings: dict[str, Any] = {**librdkafka(properties), "log_level": 0, "logger": _SILENT}
    try:
        _check(AdminClient(settings), topic, timeout_s)
        _write(settings, topic, values, timeout_s)
    except KafkaException as e:
        error = e.args[0]
        raise PublishError(f"topic {topic}: {error.str() if isinstance(error, KafkaError) else error}") from None


def _check(admin: AdminClient, topic: str, timeout_s: float) -> None:
    found = admin.list_topics(topic, timeout=timeout_s).topics[topic]
    if found.error is not None:
        raise PublishError(f"topic {topic}: {found.error.str()}")
    if len(found.partitions) != 1:
        raise PublishError(f"topic {topic} has {len(found.partitions)} partitions instead of one")
    resource = ConfigResource(ResourceType.TOPIC, topic)
    config = admin.describe_configs([resource], request_timeout=timeout_s)[resource].result(timeout_s)
    policy = config["cleanup.policy"].value
    if policy != "compact":
        raise PublishError(f"topic {topic} has cleanup.policy '{policy}' instead of 'compact'")


def _write(settings: Mapping[str, Any], topic: str, values: Mapping[str, str | None], timeout_s: float) -> None:
    failed: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failed.append(error.str())

    limit_ms = max(1, int(timeout_s * 1000))
    producer = Producer({**settings, "enable.idempotence": True, "message.timeout.ms": limit_ms})
    for stream, value in values.items():
        content = None if value is None else value.encode()
        producer.produce(topic, key=stream.encode(), value=content, on_delivery=delivered)
    producer.flush()
    if failed:
        raise PublishError(f"topic {topic}: {len(failed)} of {len(values)} records were not written: {failed[0]}")
