"""What Kafka says about a cluster, by the package confluent-kafka."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicCollection
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    ConfigResource,
    ResourceType,
)

from dynamic_kafka._tools.doctor.check import Result
from dynamic_kafka._tools.doctor.network import Address

# What the sink asks for, unless the brokers allow less.
_TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
_SILENT = logging.Logger("dynamic-kafka-cli")
_SILENT.addHandler(logging.NullHandler())
_NO_RIGHT = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


class Brokers:
    """An admin client of one cluster. The methods after ``login`` need a log-in that is ``ok``."""

    def __init__(self, config: Mapping[str, str], timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._errors: list[Any] = []
        self._config: dict[str, Any] = {
            **config,
            "client.id": "dynamic-kafka-cli",
            "log_level": 0,
            # Fatal errors are logged at any level.
            "logger": _SILENT,
            "error_cb": self._errors.append,
        }
        self._metadata: Any = None

    def login(self) -> Result:
        """Whether the brokers accept the credentials."""
        protocol = self._config.get("security.protocol", "PLAINTEXT")
        try:
            self._client = AdminClient(self._config)
            self._metadata = self._client.list_topics(timeout=self._timeout_s)
        except KafkaException as e:
            self._client.poll(0)
            error = next((e for e in self._errors if e.code() == KafkaError._AUTHENTICATION), None)
            if error is not None:
                reason = re.sub(r"^.*?: ", "", error.str(), count=1)
                remedy = "correct user, password and sasl.mechanism in the metadata"
                return Result("failed", f"the credentials are refused: {reason}", remedy)
            certificates = "SSL" in protocol.upper() and "SASL" not in protocol.upper()
            remedy = (
                "correct the client's certificate (ssl.keystore.*)"
                if certificates
                else "correct security.protocol, or the port"
            )
            return Result("failed", f"no answer to a request: {_text(e)}", remedy)
        return Result("ok", f"{protocol}")

    def topics(self, topics: Mapping[str, bool], patterns: Mapping[str, bool]) -> Result:
        """Whether the topics exist and may be read, and written if queries write to them.

        Args:
            topics: Names, with whether they are written.
            patterns: Patterns of names, likewise.
        """
        problems = []
        there = set(self._metadata.topics)
        for pattern in patterns:
            if not any(_matches(pattern, topic) for topic in there):
                problems.append(("warning", f"no topic matches {pattern}"))
        asked = list(topics)
        if asked:
            answers = self._client.describe_topics(
                TopicCollection(asked), include_authorized_operations=True, request_timeout=self._timeout_s
            )
            for topic, answer in answers.items():
                problems += self._topic(topic, answer)
        if not problems:
            return Result("ok", f"{len(asked)} topics exist and may be read" if asked else "no topics by name")
        status = "failed" if any(how == "failed" for how, _ in problems) else "warning"
        remedy = "create the topic, correct its name, or grant Describe and Read (and Write to queries that write)"
        return Result(
            "failed" if status == "failed" else "warning", "; ".join(text for _, text in problems), remedy
        )

    def _topic(self, topic: str, answer: Any) -> list[tuple[str, str]]:
        try:
            allowed = answer.result(self._timeout_s).authorized_operations
        except KafkaException as e:
            if e.args[0].code() in _NO_RIGHT:
                return [("failed", f"topic {topic}: no right to Describe")]
            if e.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return [("failed", f"topic {topic} does not exist")]
            return [("failed", f"topic {topic}: {_text(e)}")]
        except FutureTimeoutError:
            return [("failed", f"topic {topic}: no answer within {self._timeout_s:g} s")]
        if allowed is not None and AclOperation.READ not in allowed:
            return [("failed", f"topic {topic}: no right to Read")]
        return []

    def groups(self, group: str | None) -> Result:
        """Whether the group of ``commitOffsets`` may be used."""
        if group is None:
            return Result("ok", "no group.id in the metadata; only commitOffsets needs a group")
        remedy = f"grant Read on the group {group}, or leave commitOffsets off"
        try:
            answers = self._client.describe_consumer_groups(
                [group], include_authorized_operations=True, request_timeout=self._timeout_s
            )
            allowed = answers[group].result(self._timeout_s).authorized_operations
        except KafkaException as e:
            code = e.args[0].code()
            # A group without members or offsets. Its operations are not known.
            if code == KafkaError.GROUP_ID_NOT_FOUND:
                return Result("ok", f"group {group} does not exist yet")
            if code in _NO_RIGHT:
                return Result("failed", f"group {group}: no right to Describe", remedy)
            return Result("failed", f"group {group}: {_text(e)}", None)
        except FutureTimeoutError:
            return Result("failed", f"group {group}: no answer within {self._timeout_s:g} s", None)
        if allowed is not None and AclOperation.READ not in allowed:
            return Result("failed", f"group {group}: no right to Read", remedy)
        return Result("ok", f"group {group} may be used")

    def transactional_ids(self, prefix: str, topic: str) -> Result:
        """Whether a transaction with such an id can write to a topic; the transaction is aborted."""
        id = f"{prefix}-doctor"
        try:
            producer = Producer(
                {**self._config, "transactional.id": id, "message.timeout.ms": int(self._timeout_s * 1000)}
            )
            producer.init_transactions(self._timeout_s)
            producer.begin_transaction()
            failed: list[Any] = []
            producer.produce(
                topic, b"dynamic-kafka doctor", on_delivery=lambda e, _: failed.append(e) if e else None
            )
            producer.flush(self._timeout_s)
            producer.abort_transaction(self._timeout_s)
        except KafkaException as e:
            return Result(
                "failed", f"{id}: {_text(e)}", f"grant Write on transactional ids with the prefix {prefix}"
            )
        if failed:
            return Result(
                "failed", f"no record can be written to {topic}: {failed[0].str()}", f"grant Write on {topic}"
            )
        return Result("ok", f"a transaction wrote to {topic} and was aborted")

    def cluster_id(self, judged: Callable[[str], Result]) -> Result:
        """What is said about the ``cluster.id``, if the brokers give one."""
        found = self._metadata.cluster_id
        if not found:
            return Result("warning", "the brokers give no cluster.id, so a replaced cluster is not recognized")
        return judged(str(found))

    def transaction_timeout(self, wanted: str | None) -> Result:
        """Whether transactions may be open for as long as the sink wants."""
        broker = ConfigResource(ResourceType.BROKER, str(next(iter(self._metadata.brokers))))
        try:
            answers = self._client.describe_configs([broker], request_timeout=self._timeout_s)
            entries = answers[broker].result(self._timeout_s)
            most = int(entries["transaction.max.timeout.ms"].value)
        except (KafkaException, FutureTimeoutError, KeyError, ValueError) as e:
            reason = _text(e) if isinstance(e, KafkaException) else "no answer"
            remedy = "grant DescribeConfigs on the cluster; only exactly-once needs it"
            return Result("warning", f"transaction.max.timeout.ms is not known: {reason}", remedy)
        if wanted is not None and wanted.isdecimal() and int(wanted) > most:
            remedy = "lower transaction.timeout.ms, or raise transaction.max.timeout.ms of the brokers"
            return Result("failed", f"the brokers allow {most} ms, transaction.timeout.ms is {wanted}", remedy)
        if most < _TRANSACTION_TIMEOUT_MS:
            remedy = "raise transaction.max.timeout.ms of the brokers to 15 minutes"
            return Result("warning", f"the brokers allow only {most} ms", remedy)
        return Result("ok", f"the brokers allow {most} ms")

    def advertised(self) -> list[Address]:
        """The addresses by which the brokers want to be reached."""
        return [(broker.host, broker.port) for broker in self._metadata.brokers.values()]


def _matches(pattern: str, topic: str) -> bool:
    try:
        return re.fullmatch(pattern, topic) is not None
    except re.error:
        # A regular expression that only Java has is not judged.
        return True


def _text(e: KafkaException) -> str:
    return str(e.args[0].str())
