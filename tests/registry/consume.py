"""Prints records as JSON, as Confluent's deserializers read them. Run by the Python of `target/venv-registry`."""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

TIMEOUT_SECONDS = 30


def main(servers: str, registry: str, topic: str, kind: str) -> None:
    """All records that are in the topic now; each line is a JSON object with `key` and `value`."""
    client = SchemaRegistryClient({"url": registry})
    if kind == "avro":
        deserialize: Any = AvroDeserializer(client)
    else:
        deserialize = JSONDeserializer(None, schema_registry_client=client)
    group = {"group.id": "x", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": servers, **group})
    left = set(consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in left])
    while left:
        message = consumer.poll(TIMEOUT_SECONDS)
        if message is None:
            raise TimeoutError(topic)
        if message.error() is not None:
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise RuntimeError(message.error())
            left.discard(message.partition())
            continue
        key, value = (
            deserialize(part, SerializationContext(topic, field))
            for part, field in ((message.key(), MessageField.KEY), (message.value(), MessageField.VALUE))
        )
        print(json.dumps({"key": key, "value": value}, default=str))
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
