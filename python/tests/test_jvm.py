from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dynamic_kafka import (
    DynamicKafka,
    DynamicKafkaError,
    DynamicKafkaReaderBuilder,
    FileMetadataService,
    KafkaMetadataService,
    KafkaStream,
    _artifact,
    _jvm,
)
from dynamic_kafka._version import JAR_VERSION
from dynamic_kafka.errors import PUBLISH


class Mine(KafkaMetadataService):
    def get_all_streams(self) -> list[KafkaStream]:
        return []

    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        return {}


def over(spark: Any) -> DynamicKafkaReaderBuilder:
    return (
        DynamicKafka.builder(spark).set_kafka_metadata_service(FileMetadataService("f")).set_stream_ids("orders")
    )


def refused(builder: DynamicKafkaReaderBuilder) -> DynamicKafkaError:
    with pytest.raises(DynamicKafkaError) as error:
        builder.load()
    assert isinstance(error.value, (PySparkException, RuntimeError))
    return error.value


def test_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)
    error = refused(over(None))
    assert error.getCondition() == "DYNAMIC_KAFKA.NO_SESSION"
    assert "no active Spark session" in str(error)


def test_the_default_session_in_another_thread(spark: SparkSession) -> None:
    """The active session of the JVM is that of a thread, as PySpark's threads have a thread of the JVM each."""
    with ThreadPoolExecutor(1) as other:
        assert other.submit(_jvm.session, None).result() is spark


def test_no_jar(spark: SparkSession) -> None:
    error = refused(over(spark))
    assert error.getCondition() == "DYNAMIC_KAFKA.JAR_MISSING"
    assert f"--packages {_artifact.coordinate(_artifact.spark_line())}" in str(error)
    assert (PUBLISH in str(error)) == JAR_VERSION.endswith("-SNAPSHOT")
    assert "JavaPackage" not in str(error)
    with pytest.raises(DynamicKafkaError, match="JAR_MISSING"):
        over(spark).load_batch()


def test_no_jar_with_the_active_session(spark: SparkSession) -> None:
    assert refused(over(None)).getCondition() == "DYNAMIC_KAFKA.JAR_MISSING"


def test_a_jar_of_another_version(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jvm, "load", lambda gateway: SimpleNamespace(version=lambda: "0.0.9"))
    error = refused(over(spark))
    assert error.getCondition() == "DYNAMIC_KAFKA.VERSION_MISMATCH"
    assert error.getMessageParameters()["jar"] == "0.0.9"
    assert "has version 0.0.9" in str(error)


def test_a_jar_for_another_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jvm, "load", lambda gateway: SimpleNamespace(version=lambda: JAR_VERSION))
    monkeypatch.setattr(_jvm, "jar_line", lambda gateway: "3.5")
    error = refused(over(spark))
    assert error.getCondition() == "DYNAMIC_KAFKA.VERSION_MISMATCH"
    assert f"has version {JAR_VERSION} for Spark 3.5. Use" in str(error)
    assert f"needs version {JAR_VERSION} for Spark {_artifact.spark_line()} of" in str(error)


def test_not_a_session() -> None:
    with pytest.raises(TypeError, match="takes a SparkSession, not str"):
        over("local[1]").load()


def test_a_stopped_session_and_a_dead_jvm(run_python: Callable[[str], str]) -> None:
    shown = run_python(
        """
from pyspark.sql import SparkSession
from dynamic_kafka import DynamicKafka, DynamicKafkaError

def attempt(spark):
    try:
        DynamicKafka.builder(spark).set_stream_ids("a").load()
    except DynamicKafkaError as e:
        print(e)

def session():
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

spark = session()
spark.stop()
attempt(spark)
spark = session()
spark.sparkContext._gateway.proc.kill()
spark.sparkContext._gateway.proc.wait()
attempt(spark)
"""
    )
    stopped, dead = shown.splitlines()
    assert stopped.startswith("[DYNAMIC_KAFKA.SESSION_STOPPED]")
    assert dead.startswith("[DYNAMIC_KAFKA.GATEWAY_DEAD]")


class Recorded:
    """Replaces a reader, and records its calls."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {}

    def format(self, name: str) -> Recorded:
        self.calls["format"] = name
        return self

    def options(self, **options: str) -> Recorded:
        self.calls.update(options)
        return self

    def load(self) -> Recorded:
        return self


def connect_session() -> Any:
    recorded = Recorded()
    remote = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})()
    remote.readStream = remote.read = recorded
    return remote


def test_connect_takes_the_options_and_no_jvm() -> None:
    loaded: Any = over(connect_session()).load()
    assert loaded.calls == {
        "format": "dynamic-kafka",
        "metadataService": "file",
        "metadataService.path": "f",
        "streamIds": "orders",
    }


def test_a_python_service_needs_a_classic_session() -> None:
    error = refused(over(connect_session()).set_kafka_metadata_service(Mine()))
    assert error.getCondition() == "DYNAMIC_KAFKA.CONNECT_UNSUPPORTED"
    assert "A metadata service written in Python needs a classic Spark session" in str(error)
