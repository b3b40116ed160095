"""Clients, serializers and encoders of other projects, in the Python of `target/venv-registry`.

Each line of stdin is a request, a JSON object with `do`; each line of stdout is its result, as JSON.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import sys
from collections.abc import Callable
from typing import Any

import fastavro
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory, timestamp_pb2

TIMEOUT_SECONDS = 60
Encode = Callable[[Any], bytes]
Request = dict[str, Any]


def produce(request: Request) -> None:
    """`records` are pairs of key and value, written to the partitions in turn. A value of null is a tombstone."""
    encode = encoder(request)
    producer = Producer({"bootstrap.servers": request["servers"]})
    failures: list[Any] = []
    for i, (key, value) in enumerate(request["records"]):
        producer.produce(
            request["topic"],
            None if value is None else encode(value),
            key,
            partition=i % request["partitions"],
            on_delivery=lambda error, _: failures.append(error) if error is not None else None,
        )
    left = producer.flush(TIMEOUT_SECONDS)
    if left or failures:
        raise RuntimeError(f"{left} records without an answer, {failures}")


def consume(request: Request) -> list[tuple[Any, Any]]:
    """The keys and values of all records that are in the topic now."""
    decode = decoder(request)
    group = {"group.id": "x", "isolation.level": "read_committed", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": request["servers"], **group})
    topic = request["topic"]
    left = set(consumer.list_topics(topic, TIMEOUT_SECONDS).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in left])
    found = []
    while left:
        message = consumer.poll(TIMEOUT_SECONDS)
        if message is None:
            raise TimeoutError(topic)
        error = message.error()
        if error is None:
            found.append(((message.key() or b"").decode(), decode(message.value() or b"")))
        elif error.code() == KafkaError._PARTITION_EOF:
            left.discard(message.partition())
        else:
            raise RuntimeError(error)
    consumer.close()
    return found


def descriptor(request: Request) -> str:
    """What `protoc --include_imports --descriptor_set_out` writes, in base 64."""
    files = descriptor_pb2.FileDescriptorSet()
    files.file.add().ParseFromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    files.file.add().CopyFrom(json_format.ParseDict(request["schema"], descriptor_pb2.FileDescriptorProto()))
    return base64.b64encode(files.SerializeToString()).decode()


def encoder(request: Request) -> Encode:
    """`encoding` names the library; `schema` is that of the records."""
    kind, schema = request["encoding"], request.get("schema")
    context = SerializationContext(request["topic"], MessageField.VALUE)
    if kind == "bytes":
        return bytes.fromhex
    if kind == "text":
        return lambda text: str(text).encode()
    if kind == "json":
        return lambda value: json.dumps(value, ensure_ascii=False).encode()
    if kind == "csv":
        return _csv_line
    if kind == "avro":
        parsed = fastavro.parse_schema(schema)
        return lambda value: _written(lambda file: fastavro.schemaless_writer(file, parsed, value))
    if kind == "protobuf":
        return lambda value: json_format.ParseDict(value, _message(request)()).SerializeToString()
    return _framed(request, context)


def _framed(request: Request, context: SerializationContext) -> Encode:
    """An encoder of records with the id that the registry gives to the schema."""
    kind, text = request["encoding"], json.dumps(request["schema"])
    client = SchemaRegistryClient({"url": request["registry"]})
    if kind == "protobuf-confluent":
        made = _message(request)
        serialize: Any = ProtobufSerializer(made, client, {"use.deprecated.format": False})
        return lambda value: serialize(json_format.ParseDict(value, made()), context)
    serialize = AvroSerializer(client, text) if kind == "avro-confluent" else JSONSerializer(text, client)
    return lambda value: serialize(value, context)


def decoder(request: Request) -> Callable[[bytes], Any]:
    """The other way round."""
    kind, schema = request["encoding"], request.get("schema")
    context = SerializationContext(request["topic"], MessageField.VALUE)
    if kind == "bytes":
        return bytes.hex
    if kind == "text":
        return bytes.decode
    if kind == "json":
        return json.loads
    if kind == "csv":
        return lambda line: next(csv.reader([line.decode()], strict=True))
    if kind == "avro":
        return _whole(fastavro.parse_schema(schema))
    client = SchemaRegistryClient({"url": request["registry"]})
    if kind == "avro-confluent":
        deserialize: Any = AvroDeserializer(client)
    else:
        deserialize = JSONDeserializer(None, schema_registry_client=client)
    return lambda data: deserialize(data, context)


def _whole(schema: Any) -> Callable[[bytes], Any]:
    def decode(data: bytes) -> Any:
        file = io.BytesIO(data)
        value = fastavro.schemaless_reader(file, schema, None)
        if file.read():
            raise ValueError("bytes after the record")
        return value

    return decode


def _csv_line(values: list[Any]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue().encode()


def _written(write: Callable[[io.BytesIO], None]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


_messages: dict[str, Any] = {}


def _message(request: Request) -> Any:
    """The class of the message `message`, whose file descriptor is `schema`, as JSON."""
    key = json.dumps([request["schema"], request["message"]])
    if key not in _messages:
        pool = descriptor_pool.DescriptorPool()
        pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
        pool.Add(json_format.ParseDict(request["schema"], descriptor_pb2.FileDescriptorProto()))
        _messages[key] = message_factory.GetMessageClass(pool.FindMessageTypeByName(request["message"]))
    return _messages[key]


def main() -> None:
    """Until stdin ends."""
    jobs: dict[str, Callable[[Request], Any]] = {"produce": produce, "consume": consume, "descriptor": descriptor}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            result = {"result": jobs[request["do"]](request)}
        except Exception as e:
            result = {"error": f"{type(e).__name__}: {e}"}
        print(json.dumps(result, default=str), flush=True)


if __name__ == "__main__":
    main()
