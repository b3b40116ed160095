"""A client of a Connect server: each way to make a table, with each way to write to it.

python -m tests.connect.tables URL STREAMS
"""

from __future__ import annotations

import json
import sys
import uuid

from pyspark.sql import SparkSession

from .refusals import refusal

COLUMNS = "name STRING, n INT, tags ARRAY<INT>"


def main(url: str, streams: str) -> None:
    """Print what was written, what each table returns, and what it refuses."""
    spark = SparkSession.builder.remote(url).getOrCreate()
    written: list[list[object]] = []
    service = {"metadataService": "file", "metadataService.path": streams, "format": "json"}

    def create(columns: str, **more: str) -> str:
        table = f"t{uuid.uuid4().hex[:8]}"
        options = ", ".join(f"'{k}' = '{v}'" for k, v in {**service, "streamId": "copies", **more}.items())
        spark.sql(f"CREATE TABLE {table} {columns} USING `dynamic-kafka` OPTIONS ({options})")
        return table

    def row(name: str) -> str:
        n = len(written)
        written.append([name, n, [n]])
        return f"SELECT array({n}) AS tags, '{name}' AS name, {n} AS n"

    def refusals(table: str) -> list[list[str | None]]:
        misspelt = spark.sql("SELECT 'x' AS nam, 1 AS n")
        return [
            refusal(lambda: spark.sql(f"INSERT INTO {table} VALUES ('x', 1)")),
            refusal(lambda: spark.sql(f"INSERT INTO {table} (nam, n) VALUES ('x', 1)")),
            refusal(lambda: misspelt.writeTo(table).append()),
        ]

    for name, value in {**service, "schema": COLUMNS}.items():
        spark.conf.set(f"spark.sql.catalog.tables.{name}", value)
    spark.conf.set("spark.sql.catalog.tables", "io.github.dynamickafka.DynamicKafkaCatalog")
    tables = {
        "columns": create(f"({COLUMNS})"),
        "schema": create("", schema=COLUMNS),
        "catalog": "tables.copies",
    }
    refused = {}
    for way, table in tables.items():
        n = len(written)
        written += [["list", n, [n]], ["position", n + 1, [n + 1]]]
        spark.sql(f"INSERT INTO {table} (n, name, tags) VALUES ({n}, 'list', array({n}))")
        spark.sql(f"INSERT INTO {table} VALUES ('position', {n + 1}, array({n + 1}))")
        spark.sql(f"INSERT INTO {table} {row('select')}")
        spark.sql(f"INSERT INTO {table} BY NAME {row('by name')}")
        spark.sql(row("writeTo")).writeTo(table).append()
        spark.sql(row("insertInto")).write.insertInto(table)
        spark.sql(row("saveAsTable")).write.format("dynamic-kafka").mode("append").saveAsTable(table)
        refused[way] = refusals(table)
    read = {
        way: [list(row) for row in spark.sql(f"SELECT name, n, tags FROM {table} ORDER BY n").collect()]
        for way, table in tables.items()
    }
    print(json.dumps({"session": type(spark).__module__, "written": written, "read": read, "refused": refused}))


if __name__ == "__main__":
    main(*sys.argv[1:])
