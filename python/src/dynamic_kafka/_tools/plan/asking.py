"""Asks a cluster for what the next batch depends on. It needs the package confluent-kafka."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any

from confluent_kafka import (
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    OffsetSpec,
)

from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.last_records import LastRecord, Partition
from dynamic_kafka._tools.kafka.error import KafkaSettingsError
from dynamic_kafka._tools.kafka.settings import librdkafka
from dynamic_kafka._tools.plan.continuing import Answer, Question
from dynamic_kafka._tools.plan.error import PlanError

_TIMESTAMP = re.compile(r"timestamp:(\d+)")
_SAMPLE = 100
_LATEST = OffsetSpec.latest()  # type: ignore[no-untyped-call]
_EARLIEST = OffsetSpec.earliest()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Topics:
    """Topics of a cluster.

    Attributes:
        kafka_id: The ``cluster.id`` of Kafka.
        names: All topics but internal ones.
        ids: Topic ids by name, of the topics that were asked for and exist.
        unreadable: Topics among them that may not be read.
        hidden: Topics that were asked for and may not be described, so that it is not known whether they exist.
    """

    kafka_id: str | None
    names: frozenset[str]
    ids: Mapping[str, str]
    unreadable: frozenset[str]
    hidden: frozenset[str] = frozenset()


class Cluster:
    """A client of one cluster. Each method raises PlanError if the cluster does not answer."""

    def __init__(self, id: str, properties: Mapping[str, str], timeout_s: float) -> None:
        self._id = id
        self._timeout_s = timeout_s
        self._committed_only = properties.get("isolation.level", "").lower() == "read_committed"
        try:
            self._config: dict[str, Any] = {
                **librdkafka(properties),
                "client.id": "dynamic-kafka-cli",
                "log_level": 0,
            }
            self._client = AdminClient(self._config)
            self._metadata: Any = self._client.list_topics(timeout=timeout_s)
        except KafkaSettingsError as e:
            raise PlanError(f"cluster '{id}': {e}") from None
        except KafkaException as e:
            raise self._failed(e) from None

    @property
    def names(self) -> frozenset[str]:
        """All topics but internal ones."""
        return frozenset(name for name in self._metadata.topics if not name.startswith("__"))

    def topics(self, asked: Iterable[str]) -> Topics:
        """The topics, with ids and rights of those that are asked for."""
        wanted = frozenset(asked)
        there = sorted(self.names & wanted)
        ids, unreadable = {}, set()
        if there:
            answers = self._client.describe_topics(
                TopicCollection(there), include_authorized_operations=True, request_timeout=self._timeout_s
            )
            for topic, answer in answers.items():
                found = self._result(answer)
                # Java clients write ids in the alphabet of URLs.
                ids[topic] = str(found.topic_id).replace("+", "-").replace("/", "_")
                if (
                    found.authorized_operations is not None
                    and AclOperation.READ not in found.authorized_operations
                ):
                    unreadable.add(topic)
        hidden = self._hidden(sorted(wanted - self.names))
        return Topics(self._metadata.cluster_id, self.names, ids, frozenset(unreadable), hidden)

    def _hidden(self, topics: list[str]) -> frozenset[str]:
        """Which of these topics, that the cluster does not list, may not be described."""
        if not topics:
            return frozenset()
        answers = self._client.describe_topics(TopicCollection(topics), request_timeout=self._timeout_s)
        errors = {topic: answer.exception(self._timeout_s) for topic, answer in answers.items()}
        return frozenset(
            topic
            for topic, error in errors.items()
            if isinstance(error, KafkaException) and error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        )

    def ends(self, topics: Iterable[str]) -> Positions:
        """The end offsets of topics, or the last stable offsets if the query reads committed records only."""
        return self._offsets(dict.fromkeys(topics, _LATEST))

    def earliest(self, topics: Iterable[str]) -> Positions:
        """The earliest offsets of topics."""
        return self._offsets(dict.fromkeys(topics, _EARLIEST))

    def starting(self, topics: Mapping[str, str], ends: Positions) -> Positions:
        """Where topics start, by their `starting_offsets`; what is absent starts at its beginning."""
        found: Positions = {}
        times: dict[str, Any] = {}
        for topic, given in topics.items():
            if given == "latest":
                found[topic] = ends[topic]
            elif since := _TIMESTAMP.fullmatch(given):
                times[topic] = OffsetSpec.for_timestamp(int(since[1]))
            elif given.startswith("{"):
                numbers = {int(p): at for p, at in json.loads(given).get(topic, {}).items()}
                found[topic] = {
                    p: ends[topic].get(p, 0) if at == -1 else at for p, at in numbers.items() if at != -2
                }
            elif given != "earliest":
                raise PlanError(f"cluster '{self._id}', topic '{topic}' starts at '{given}', which is not planned")
        for topic, at in self._offsets(times).items():
            # No record is that new.
            found[topic] = {p: ends[topic].get(p, 0) if offset < 0 else offset for p, offset in at.items()}
        return found

    def records_at(self, questions: Mapping[Partition, Question]) -> dict[Partition, Answer]:
        """The records of questions of the policy ``same-offsets``."""
        first = self._first_records({key: question.record for key, question in questions.items()})
        there = {key: record for key, record in first.items() if record.offset == questions[key].record}
        # What follows the last record that was read, up to the position, is none of the former log.
        others = {key: record for key, record in first.items() if key not in there}
        beyond = {key: record for key, record in others.items() if record.offset >= questions[key].position}
        between = {key: questions[key].position for key in others if key not in beyond}
        following = {**beyond, **self._first_records(between)}
        return {key: Answer(there.get(key), following.get(key)) for key in questions}

    def _first_records(self, asked: Mapping[Partition, int]) -> dict[Partition, LastRecord]:
        """The first record of each partition from an offset on, if there is one."""
        if not asked:
            return {}
        beginnings = self.earliest({topic for topic, _ in asked})
        found = {}
        for topic, partition, offset, _, _, time_ms in self._records(
            {(topic, p): max(at, beginnings[topic].get(p, at)) for (topic, p), at in asked.items()},
            self._committed_only,
            is_first_enough=True,
        ):
            found[topic, partition] = LastRecord(offset, time_ms)
        return found

    def checkpoints(self, topic: str) -> list[tuple[int, bytes, bytes | None]] | None:
        """Offset, key and value of the records of MirrorMaker's checkpoint topic. None: there is no such topic."""
        if topic not in self._metadata.topics:
            return None
        # MirrorMaker creates the topic with one partition, and may write in transactions.
        beginning = self.earliest((topic,))[topic][0]
        records = self._records({(topic, 0): beginning}, committed_only=True)
        return [(offset, key or b"", value) for _, _, offset, key, value, _ in records]

    def _records(
        self, asked: Mapping[Partition, int], committed_only: bool, is_first_enough: bool = False
    ) -> Iterator[tuple[str, int, int, bytes | None, bytes | None, int]]:
        """Records from these offsets to the ends of the partitions, or the first one of each."""
        consumer = Consumer(
            {
                **self._config,
                "group.id": "dynamic-kafka-cli",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed" if committed_only else "read_uncommitted",
            }
        )
        until = time.monotonic() + self._timeout_s
        try:
            consumer.assign([TopicPartition(topic, p, at) for (topic, p), at in asked.items()])
            left = set(asked)
            while left:
                record = consumer.poll(max(0.0, until - time.monotonic()))
                if record is None:
                    raise PlanError(
                        f"cluster '{self._id}': topic '{min(left)[0]}' was not read to its end within "
                        f"{self._timeout_s:g} s"
                    )
                key = str(record.topic()), int(record.partition() or 0)
                error = record.error()
                if error is not None and error.code() != KafkaError._PARTITION_EOF:
                    raise self._failed(KafkaException(error))
                if key not in left:
                    continue
                if error is not None or is_first_enough:
                    left.remove(key)
                if error is None:
                    yield (*key, int(record.offset() or 0), record.key(), record.value(), record.timestamp()[1])
        except KafkaException as e:
            raise self._failed(e) from None
        finally:
            consumer.close()

    def record_bytes(self, topic: str, partition: int, offset: int) -> float:
        """The average size of some records from an offset on; 0 if none is returned in time."""
        consumer = Consumer({**self._config, "group.id": "dynamic-kafka-cli", "enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            records = [r for r in consumer.consume(_SAMPLE, self._timeout_s) if r.error() is None]
            sizes = [len(r.key() or b"") + len(r.value() or b"") for r in records]
            return sum(sizes) / len(sizes) if sizes else 0.0
        except KafkaException as e:
            raise self._failed(e) from None
        finally:
            consumer.close()

    def _offsets(self, specs: Mapping[str, Any]) -> Positions:
        asked = {
            TopicPartition(topic, partition): spec
            for topic, spec in specs.items()
            for partition in (self._metadata.topics[topic].partitions if topic in self._metadata.topics else ())
        }
        return self._listed(asked)

    def _listed(self, asked: dict[TopicPartition, Any]) -> Positions:
        if not asked:
            return {}
        level = IsolationLevel.READ_COMMITTED if self._committed_only else IsolationLevel.READ_UNCOMMITTED
        found: Positions = {}
        answers = self._client.list_offsets(asked, isolation_level=level, request_timeout=self._timeout_s)
        for at, answer in answers.items():
            found.setdefault(at.topic, {})[at.partition] = self._result(answer).offset
        return found

    def _result(self, answer: Future[Any], of: str = "") -> Any:
        try:
            return answer.result(self._timeout_s)
        except KafkaException as e:
            raise self._failed(e, of) from None
        except FutureTimeoutError:
            raise PlanError(f"cluster '{self._id}': no answer within {self._timeout_s:g} s") from None

    def _failed(self, e: KafkaException, of: str = "") -> PlanError:
        return PlanError(f"cluster '{self._id}'{of}: {e.args[0].str()}")
