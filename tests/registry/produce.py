"""Produces records with Confluent's serializers. Run by the Python of `target/venv-registry`."""

from __future__ import annotations

import json
import sys
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext


def main(servers: str, registry: str, topic: str) -> None:
    """Each line of stdin is a JSON object with `kind`, `schema` and `records`."""
    client = SchemaRegistryClient({"url": registry})
    producer = Producer({"bootstrap.servers": servers})
    for line in sys.stdin:
        part = json.loads(line)
        schema = json.dumps(part["schema"])
        if part["kind"] == "avro":
            serializer: Any = AvroSerializer(client, schema)
        else:
            serializer = JSONSerializer(schema, client)
        for record in part["records"]:
            context = SerializationContext(part.get("topic", topic), MessageField.VALUE)
            producer.produce(topic, serializer(record, context), partition=0)
    producer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
