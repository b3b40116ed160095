"""Transformations. Queries that write need columns `key` and `value`, from a source with values like `k3-00017`."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, functions

_FAULTS = "io.github.dynamickafka.testkit.TaskFaults"


def mapped(source: DataFrame, fault: dict[str, Any], marker: str) -> DataFrame:
    """One record for each record, in capital letters, with a fault in a task at a row if desired: see TaskFaults."""
    value = "cast(value as string)"
    written = f"upper({value})"
    if "task" in fault:
        written = f"concat({written}, {_hit(fault, marker)})"
    return source.selectExpr("cast(key as string) as key", f"{written} as value")


def both(source: DataFrame) -> DataFrame:
    """The rows of `mapped`, each for the streams `out` and `copy`."""
    streams = functions.expr("explode(array('out', 'copy'))")
    return mapped(source, {}, "").withColumn("stream", streams)


def unchanged(source: DataFrame, fault: dict[str, Any], marker: str) -> DataFrame:
    """The rows as they are, with a fault in a task at a row if desired."""
    if "task" not in fault:
        return source
    # The added value has the type of `value`.
    return source.withColumn("value", functions.expr(f"concat(value, cast({_hit(fault, marker)} as binary))"))


def ordered(source: DataFrame, fault: dict[str, Any], marker: str) -> DataFrame:
    """Key and value of each record, from two tasks that read partitions in turn: each key keeps its order."""
    return unchanged(source.select("key", "value"), fault, marker).coalesce(2)


def _hit(fault: dict[str, Any], marker: str) -> str:
    value = "cast(value as string)"
    return f"java_method('{_FAULTS}', 'once', {value}, '{fault['at']}', '{fault['task']}', '{marker}')"


def counted(source: DataFrame) -> DataFrame:
    """The number of records of each key, whenever it changes."""
    counts = source.groupBy("key").count()
    return counts.selectExpr(
        "cast(key as string) as key", "concat(cast(key as string), '-', lpad(count, 5, '0')) as value"
    )


def once(source: DataFrame) -> DataFrame:
    """Each value, with its count if that is not 1: each value has a state and one update."""
    counts = source.groupBy("value").count()
    times = "if(count > 1, concat(' times ', count), '')"
    return counts.selectExpr("cast(value as string) as key", f"concat(cast(value as string), {times}) as value")
