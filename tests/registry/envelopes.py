"""Changes of rows as Debezium, Canal, Maxwell and GoldenGate document their records."""

from __future__ import annotations

from typing import Any

from tests.registry.orders import (
    AVRO_FIELDS,
    COLUMNS,
    DDL,
    Fields,
    Read,
    Write,
    iso,
    micros,
    order,
    row,
    sql,
    without_nulls,
)

TABLE = "orders"
_MS = 1763870400456


def old(i: int) -> Fields:
    """The row before its update."""
    return {**order(i), **_changed()}


def _changed() -> Fields:
    return {"name": "before", "amount": -1.5}


def rows(i: int) -> list[tuple[Any, ...]]:
    """What change `i` is: an insert, an update or a deletion."""
    if i % 3 == 1:
        return [(*row(old(i)), "update_preimage"), (*row(order(i)), "update_postimage")]
    return [(*row(order(i)), "delete" if i % 3 else "insert")]


def _images(i: int, as_: Any) -> tuple[Any, Any, int]:
    """Before, after, and the kind of the change."""
    before = (None, as_(old(i)), as_(order(i)))[i % 3]
    return before, None if i % 3 == 2 else as_(order(i)), i % 3


def _envelope(i: int, as_: Any) -> Fields:
    before, after, kind = _images(i, as_)
    source = {
        "version": "3.0.0.Final",
        "connector": "postgresql",
        "name": "shop",
        "ts_ms": _MS - 1,
        "snapshot": "false",
        "db": "shop",
        "schema": "public",
        "table": TABLE,
        "txId": 555,
        "lsn": 24023128 + i,
    }
    op = "cud"[kind] if i % 6 else "r"
    return {"before": before, "after": after, "source": source, "op": op, "ts_ms": _MS, "transaction": None}


def debezium(_: str, i: int) -> list[Any]:
    """A deletion is followed by a tombstone; the connector adds the schema."""
    schema = {"type": "struct", "fields": [], "optional": False, "name": "shop.public.orders.Envelope"}
    return [{"schema": schema, "payload": _envelope(i, iso)}, *([None] if i % 3 == 2 else [])]


def canal(_: str, i: int) -> list[Any]:
    """All values are texts."""

    def texts(fields: Fields) -> Fields:
        return {n: None if v is None else str(int(v) if isinstance(v, bool) else v) for n, v in fields.items()}

    kind = i % 3
    return [
        {
            "data": [texts(sql(order(i)))],
            "database": "shop",
            "es": _MS,
            "id": i,
            "isDdl": False,
            "mysqlType": {"id": "BIGINT", "name": "VARCHAR(255)", "amount": "DOUBLE", "paid": "TINYINT(1)"},
            "old": [texts(_changed())] if kind == 1 else None,
            "pkNames": ["id"],
            "sql": "",
            "sqlType": {"id": -5, "name": 12, "amount": 8, "paid": -7, "at": 93},
            "table": TABLE,
            "ts": _MS + 42,
            "type": ("INSERT", "UPDATE", "DELETE")[kind],
        }
    ]


def maxwell(_: str, i: int) -> list[Any]:
    """`old` has only what was changed."""
    kind = i % 3
    change = {
        "database": "shop",
        "table": TABLE,
        "type": ("insert", "update", "delete")[kind],
        "ts": _MS // 1000,
        "xid": 940786 + i,
        "commit": True,
        "primary_key_columns": ["id"],
        "data": sql(order(i)),
    }
    return [{**change, "old": _changed()} if kind == 1 else change]


def ogg(_: str, i: int) -> list[Any]:
    """An envelope with the names of GoldenGate's formatter."""
    before, after, kind = _images(i, sql)
    images = {name: image for name, image in (("before", before), ("after", after)) if image is not None}
    about = {"table": "SHOP.ORDERS", "op_type": "IUD"[kind], "op_ts": "2026-11-23 01:02:03.000000"}
    more = {"current_ts": "2026-11-23T01:02:04.125000", "pos": f"{i:020d}", "primary_keys": ["id"]}
    return [{**about, **more, **images}]


_SOURCE = {
    "type": "record",
    "name": "Source",
    "namespace": "io.debezium.connector.postgresql",
    "fields": [
        *({"name": name, "type": "string"} for name in ("version", "connector", "name", "db", "schema", "table")),
        {"name": "ts_ms", "type": "long"},
        {"name": "snapshot", "type": [{"type": "string"}, "null"], "default": "false"},
        {"name": "txId", "type": ["null", "long"], "default": None},
        {"name": "lsn", "type": ["null", "long"], "default": None},
    ],
}
_BLOCK = {"type": "record", "name": "block", "namespace": "event", "fields": [{"name": "id", "type": "string"}]}
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "namespace": "shop.public.orders",
    "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": AVRO_FIELDS}]},
        {"name": "after", "type": ["null", "Value"], "default": None},
        {"name": "source", "type": _SOURCE},
        {"name": "op", "type": "string"},
        {"name": "ts_ms", "type": ["null", "long"], "default": None},
        {"name": "transaction", "type": ["null", _BLOCK], "default": None},
    ],
}

_JSON = {"encoding": "json"}
_CHANGES = (*COLUMNS, "_change_type")
READS = [
    Read(
        "debezium-json",
        _JSON,
        debezium,
        rows,
        _CHANGES,
        {"schema": DDL, "debezium-json.schemaInclude": "true"},
    ),
    Read(
        "debezium-avro-confluent",
        {"encoding": "avro-confluent", "schema": ENVELOPE},
        lambda _, i: [_envelope(i, micros), *([None] if i % 3 == 2 else [])],
        rows,
        _CHANGES,
    ),
    Read("canal-json", _JSON, canal, rows, _CHANGES),
    Read("maxwell-json", _JSON, maxwell, rows, _CHANGES),
    Read("ogg-json", _JSON, ogg, rows, _CHANGES),
]

_KINDS = "element_at(array('insert', 'update_preimage', 'update_postimage', 'delete'), int(id % 4) + 1)"


def _is_deleted(i: int) -> bool:
    return i % 4 in (1, 3)


def _debezium_written(i: int) -> Fields:
    image = without_nulls(iso(order(i)))
    if _is_deleted(i):
        return {"before": image, "after": None, "op": "d"}
    return {"before": None, "after": image, "op": "c"}


def _canal_written(i: int) -> Fields:
    return {"data": [without_nulls(iso(order(i)))], "type": "DELETE" if _is_deleted(i) else "INSERT"}


_WRITTEN = ("id", "name", "amount", "paid", "at", f"{_KINDS} AS _change_type")
WRITES = [
    Write("debezium-json", _JSON, _debezium_written, _WRITTEN),
    Write("canal-json", _JSON, _canal_written, _WRITTEN),
]
