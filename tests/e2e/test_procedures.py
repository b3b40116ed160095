"""Procedures by PySpark: the same answers as the commands, on the same checkpoint and metadata file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.harness import command as line
from tests.harness.orders import Orders
from tests.harness.session import session as one_session

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with one_session() as running:
        yield running


@pytest.fixture
def session(spark: SparkSession, orders: Orders) -> SparkSession:
    """A session with the catalog `streams`, whose settings are those of its first use."""
    session = spark.newSession()
    session.conf.set("spark.sql.catalog.streams", "io.github.dynamickafka.DynamicKafkaCatalog")
    session.conf.set("spark.sql.catalog.streams.metadataService", "file")
    session.conf.set("spark.sql.catalog.streams.metadataService.path", str(orders.streams))
    return session


@pytest.fixture
def checkpoint(session: SparkSession, tmp_path: Path) -> Path:
    """The checkpoint of a query that has read everything."""
    writer = session.readStream.table("streams.orders").writeStream.format("noop").trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    assert query.awaitTermination(240)
    return tmp_path / "checkpoint"


def call(session: SparkSession, text: str) -> list[dict[str, Any]]:
    return [row.asDict() for row in session.sql(f"CALL streams.system.{text}").collect()]


def command(*arguments: object) -> Any:
    """What the command prints with --json. Its limit counts from the start of its JVM, which a busy machine delays."""
    reply = line.command(*arguments, "--timeout", 60, "--json")
    assert reply.stdout, reply.stderr
    return reply.json


def test_streams_offsets_and_lag(
    session: SparkSession, checkpoint: Path, orders: Orders, brokers: dict[str, Cluster]
) -> None:
    from dynamic_kafka_testkit import Record

    assert call(session, "streams()") == [{"stream": "orders", "clusters": ["blue", "green"], "format": "string"}]
    brokers["green"].produce(orders.topic, [Record(1, None, "more")])
    answer = command("offsets", checkpoint, "--metadata", orders.streams)
    (source,) = answer["sources"]
    assert source["lag_unknown"] == {}
    positions = source["positions"]
    assert [(p["state"], p["lag"]) for p in positions] == [("active", lag) for lag in (0, 0, 0, 1)]
    assert call(session, f"offsets('{checkpoint}')") == [
        {
            "source": 0,
            "cluster": p["cluster"],
            "topic": p["topic"],
            "partition": p["partition"],
            "position": p["position"],
            "state": p["state"],
        }
        for p in positions
    ]
    assert [
        (row["position"], row["latest"], row["lag"], row["error"]) for row in call(session, f"lag('{checkpoint}')")
    ] == [(p["position"], p["end"], p["lag"], None) for p in positions]


def test_plan_with_another_file(session: SparkSession, checkpoint: Path, orders: Orders, tmp_path: Path) -> None:
    document = json.loads(orders.streams.read_text())
    of_orders = document["streams"]["orders"]["clusters"]
    of_orders["green"]["state"] = "draining"
    del of_orders["blue"]
    (tmp_path / "next.json").write_text(json.dumps(document))
    planned = command("plan", checkpoint, tmp_path / "next.json")
    found = call(session, f"plan('{checkpoint}', metadata => '{tmp_path / 'next.json'}')")

    def rows(change: str, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(row[name] for name in names) for row in found if row["change"] == change]

    def planned_rows(change: str, *names: str) -> list[tuple[Any, ...]]:
        return [tuple(row[name] for name in names) for row in planned[change]]

    place = ("cluster", "topic", "partition", "position")
    assert rows("drains", *place, "target") == planned_rows("drains", *place, "target")
    assert rows("leaves", *place, "records") == planned_rows("leaves", *place, "records")
    assert not any(row["lost"] for row in found)


@pytest.mark.test_all
def test_a_cluster_under_a_new_id(session: SparkSession, checkpoint: Path, orders: Orders, tmp_path: Path) -> None:
    document = json.loads(orders.streams.read_text())
    of_orders = document["streams"]["orders"]["clusters"]
    document["clusters"]["new"] = document["clusters"].pop("blue")
    of_orders["new"] = of_orders.pop("blue")
    (tmp_path / "next.json").write_text(json.dumps(document))
    planned = command("plan", checkpoint, tmp_path / "next.json")
    assert {(one["cluster"], one["by"]) for one in planned["enters"]} == {("new", "retained")}
    found = call(session, f"plan('{checkpoint}', metadata => '{tmp_path / 'next.json'}')")
    # The query continues under the new id.
    assert {row["cluster"] for row in found if row["change"] == "enters"} == {"new"}
    assert not any(row["lost"] for row in found)


def test_reset_is_undone_by_the_command(session: SparkSession, checkpoint: Path) -> None:
    before = {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()}
    found = call(session, f"reset('{checkpoint}', cluster => 'blue', to => 'earliest')")
    assert [(row["partition"], row["old_position"], row["new_position"]) for row in found] == [
        (0, 10, 0),
        (1, 10, 0),
    ]
    positions = command("offsets", checkpoint, "--no-lag")["sources"][0]["positions"]
    assert [p["position"] for p in positions] == [0, 0, 10, 10]
    assert line.command("restore", checkpoint).exit_code == 0
    assert {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()} == before


def test_refusals_have_a_condition(session: SparkSession, tmp_path: Path) -> None:
    for text, condition, says in (
        ("lags('x')", "UNKNOWN_PROCEDURE", "Did you mean 'system.lag'?"),
        (f"lag('{tmp_path}')", "PROCEDURE_REFUSED", "it has no folder 'offsets'"),
    ):
        with pytest.raises(PySparkException) as e:
            call(session, text)
        assert e.value.getCondition() == f"DYNAMIC_KAFKA.{condition}"
        assert says in str(e.value)
