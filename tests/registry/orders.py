"""The rows of the tests of formats, and how the formats that are no changes represent them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

Fields = dict[str, Any]
Codec = dict[str, Any]

DDL = "id BIGINT, name STRING, amount DOUBLE, paid BOOLEAN, at TIMESTAMP"
COLUMNS = ("id", "name", "amount", "paid", "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSSSSS') AS at")
_START = datetime(2026, 11, 23, 1, 2, 3, 123456, tzinfo=timezone.utc)


def order(i: int) -> Fields:
    """The row with this id; `at` is in UTC. Every fifth has no name, the others have what needs quotes."""
    name = None if i % 5 == 0 else f'Zoë "{i}", 東京 \\ \' end'
    return {"id": i, "name": name, "amount": i / 2, "paid": i % 2 == 0, "at": _START + timedelta(seconds=i)}


def sql(fields: Fields) -> Fields:
    """The fields with the timestamp as text, as databases write it."""
    return {**fields, "at": fields["at"].strftime("%Y-%m-%d %H:%M:%S.%f")}


def iso(fields: Fields) -> Fields:
    """The fields with the timestamp as text with its zone."""
    return {**fields, "at": fields["at"].strftime("%Y-%m-%dT%H:%M:%S.%fZ")}


def micros(fields: Fields) -> Fields:
    """The fields with the timestamp as a number."""
    return {
        **fields,
        "at": (fields["at"] - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1),
    }


def csv_fields(fields: Fields) -> list[str]:
    """The fields as texts; null is empty."""
    found = iso(fields)
    return [
        str(found["id"]),
        found["name"] or "",
        str(found["amount"]),
        str(found["paid"]).lower(),
        found["at"],
    ]


def without_nulls(fields: Fields) -> Fields:
    """The fields as an object of JSON without null fields."""
    return {name: value for name, value in fields.items() if value is not None}


def row(fields: Fields) -> tuple[Any, ...]:
    """The row as a query reads it with `COLUMNS`."""
    return tuple(sql(fields).values())


def text(i: int) -> str:
    """The value of a record without fields."""
    return f"order {i}: 東京\n"


AVRO_FIELDS = [
    {"name": "id", "type": ["null", "long"], "default": None},
    {"name": "name", "type": ["null", "string"], "default": None},
    {"name": "amount", "type": ["null", "double"], "default": None},
    {"name": "paid", "type": ["null", "boolean"], "default": None},
    {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}], "default": None},
]
AVRO = {"type": "record", "name": "topLevelRecord", "fields": AVRO_FIELDS}
JSON_SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": ["string", "null"]},
        "amount": {"type": "number"},
        "paid": {"type": "boolean"},
        "at": {"type": "string", "format": "date-time"},
    },
}


def _proto(name: str, number: int, of: str, **more: str) -> Fields:
    return {"name": name, "number": number, "type": f"TYPE_{of}", "label": "LABEL_OPTIONAL", **more}


PROTOBUF_FIELDS = [
    _proto("id", 1, "INT64"),
    _proto("name", 2, "STRING"),
    _proto("amount", 3, "DOUBLE"),
    _proto("paid", 4, "BOOL"),
    _proto("at", 5, "MESSAGE", typeName=".google.protobuf.Timestamp"),
]
PROTOBUF = {
    "message": "shop.Order",
    "schema": {
        "name": "order.proto",
        "package": "shop",
        "syntax": "proto2",
        "dependency": ["google/protobuf/timestamp.proto"],
        "messageType": [{"name": "Order", "field": PROTOBUF_FIELDS}],
    },
}


@dataclass(frozen=True)
class Read:
    """How another project writes a format, and what a query has to read.

    Args:
        format: The option `format`.
        codec: The encoding of `foreign.py`, with its schema.
        values: The values of the records of a row, on a cluster.
        rows: The rows that they are.
        columns: The expressions of these rows.
        options: Further options of the query.
    """

    format: str
    codec: Codec
    values: Callable[[str, int], list[Any]]
    rows: Callable[[int], list[tuple[Any, ...]]]
    columns: tuple[str, ...] = COLUMNS
    options: dict[str, str] = field(default_factory=lambda: {"schema": DDL})


def _read(format_: str, codec: Codec, value: Callable[[Fields], Any], **options: str) -> Read:
    return Read(
        format_,
        codec,
        lambda _, i: [value(order(i))],
        lambda i: [row(order(i))],
        options={"schema": DDL, **options},
    )


READS = [
    Read(
        "raw",
        {"encoding": "bytes"},
        lambda _, i: [f"00ff{i:04x}"],
        lambda i: [(f"00FF{i:04X}",)],
        ("hex(value) AS value",),
        {},
    ),
    Read("string", {"encoding": "text"}, lambda _, i: [text(i)], lambda i: [(text(i),)], ("value",), {}),
    _read("json", {"encoding": "json"}, iso),
    # Python doubles quotes, as RFC 4180 says; Spark's default is a backslash before them.
    _read("csv", {"encoding": "csv"}, csv_fields, **{"csv.escape": '"'}),
    _read("avro", {"encoding": "avro", "schema": AVRO}, micros),
    _read("avro-confluent", {"encoding": "avro-confluent", "schema": AVRO}, micros),
    _read("json-confluent", {"encoding": "json-confluent", "schema": JSON_SCHEMA}, iso),
    _read("protobuf", {"encoding": "protobuf", **PROTOBUF}, iso, **{"protobuf.messageName": "shop.Order"}),
    _read("protobuf-confluent", {"encoding": "protobuf-confluent", **PROTOBUF}, iso),
]


@dataclass(frozen=True)
class Write:
    """What a query writes, and how another project has to read it.

    Args:
        format: The option `format`.
        codec: The encoding of `foreign.py`, with its schema.
        value: The value of the record of a row.
        columns: The expressions of the columns that are the payload, of the columns of `order`.
        options: Further options of the query.
    """

    format: str
    codec: Codec
    value: Callable[[int], Any]
    columns: tuple[str, ...] = ("id", "name", "amount", "paid", "at")
    options: dict[str, str] = field(default_factory=dict)


def _avro_read(i: int) -> Fields:
    return {**order(i), "at": str(order(i)["at"])}


WRITES = [
    Write(
        "raw",
        {"encoding": "bytes"},
        lambda i: f"00ff{i:04x}",
        ("unhex(concat('00ff', lpad(hex(id), 4, '0'))) AS value",),
    ),
    Write("string", {"encoding": "text"}, text, (r"concat('order ', id, ': 東京', char(10)) AS value",)),
    Write("json", {"encoding": "json"}, lambda i: without_nulls(iso(order(i)))),
    Write("csv", {"encoding": "csv"}, lambda i: csv_fields(order(i)), options={"csv.escape": '"'}),
    Write("avro", {"encoding": "avro", "schema": AVRO}, _avro_read),
    Write("avro-confluent", {"encoding": "avro-confluent"}, _avro_read),
    Write("json-confluent", {"encoding": "json-confluent"}, lambda i: without_nulls(iso(order(i)))),
]
