"""Produces records with Confluent's serializers. Run by the Python of `target/venv-registry`."""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory


def main(servers: str, registry: str, topic: str) -> None:
    """Each line of stdin is a JSON object with `kind`, `schema` and `records`."""
    client = SchemaRegistryClient({"url": registry})
    producer = Producer({"bootstrap.servers": servers})
    for line in sys.stdin:
        part = json.loads(line)
        schema = json.dumps(part["schema"])
        if part["kind"] == "avro":
            serializer: Any = AvroSerializer(client, schema)
        elif part["kind"] == "protobuf":
            serializer = _protobuf(client, part)
        else:
            serializer = JSONSerializer(schema, client)
        for record in part["records"]:
            context = SerializationContext(part.get("topic", topic), MessageField.VALUE)
            producer.produce(topic, serializer(record, context), partition=0)
    producer.flush()


def _protobuf(client: SchemaRegistryClient, part: dict[str, Any]) -> Callable[[Any, SerializationContext], bytes]:
    """`schema` is a file descriptor as JSON, `message` the full name of the records' message."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(json_format.ParseDict(part["schema"], descriptor_pb2.FileDescriptorProto()))
    made = message_factory.GetMessageClass(pool.FindMessageTypeByName(part["message"]))
    if "id" in part:
        # The serializer cannot use a schema that the registry has as text: its id, then the first message.
        header = struct.pack(">bIb", 0, part["id"], 0)
        return lambda record, _: header + json_format.ParseDict(record, made()).SerializeToString()
    serializer = ProtobufSerializer(made, client, {"use.deprecated.format": False})
    return lambda record, context: serializer(json_format.ParseDict(record, made()), context)


if __name__ == "__main__":
    main(*sys.argv[1:])
