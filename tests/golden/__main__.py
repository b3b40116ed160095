"""Makes checkpoints of Spark's own Kafka source with the installed PySpark, on a real broker.

    PYTHONPATH=python/src:jvm/testkit/python python -m tests.golden FOLDER JARS

Those in tests/conformance/checkpoints were made by this program with PySpark 4.0.0, 4.1.3, 4.2.0 and 4.3.0, and the
jars of Spark's Kafka source of the same line (of 4.2 for 4.3). State is kept in one of them only, because no command
reads it. No released Spark writes version 3 of the commit log: a test writes that number into one of them.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from dynamic_kafka_testkit import Cluster, Record, Testkit
from pyspark.sql import DataFrame, SparkSession

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_NAMES = "spark.sql.streaming.queryEvolution.enableSourceEvolution"
_OFFSETS = "spark.sql.streaming.offsetLog.formatVersion"
_COMMITS = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"

Query = Callable[[], DataFrame]


class _Forms:
    def __init__(self, spark: SparkSession, cluster: Cluster) -> None:
        self._spark = spark
        self._cluster = cluster

    def _read(self, name: str | None = None, **options: str) -> DataFrame:
        reader = self._spark.readStream if name is None else self._spark.readStream.name(name)
        reader = reader.format("kafka").option("kafka.bootstrap.servers", self._cluster.bootstrap_servers)
        return reader.option("startingOffsets", "earliest").options(**options).load().selectExpr("offset")

    def several_sources(self) -> DataFrame:
        """Two of Kafka, with two topics and one, and another source between them."""
        rates = self._spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2).load()
        first, last = self._read(subscribe="orders,payments"), self._read(subscribe="orders")
        return first.union(rates.selectExpr("value")).union(last)

    def aggregation(self) -> DataFrame:
        return self._read(subscribe="orders").groupBy("offset").count()

    def names(self) -> DataFrame:
        return self._read("second", subscribe="orders").union(self._read("first", subscribe="payments"))


def _forms(forms: _Forms) -> Iterator[tuple[str, Query, dict[str, str]]]:
    yield "several-sources", forms.several_sources, {}
    yield "aggregation", forms.aggregation, {}
    yield "commits-2", forms.aggregation, {_PROVIDER: _ROCKS_DB, _COMMITS: "2"}
    if pyspark.__version__ >= "4.2":
        yield "offsets-2", forms.several_sources, {_OFFSETS: "2"}
        yield "names", forms.names, {_OFFSETS: "2", _NAMES: "true"}


@contextmanager
def _session(jars: str) -> Iterator[SparkSession]:
    builder = SparkSession.builder.master("local[1]").config("spark.jars", jars)
    builder = builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "1")
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _run(cluster: Cluster, query: Query, checkpoint: Path) -> None:
    for batch in range(3):
        for topic in ("orders", "payments"):
            cluster.produce(topic, [Record(n % 2, None, f"{topic}-{batch}-{n}") for n in range(3 + batch)])
        writer = (
            query().writeStream.format("noop").outputMode("update").option("checkpointLocation", str(checkpoint))
        )
        writer.trigger(availableNow=True).start().awaitTermination()


def main(folder: Path, jars: str) -> None:
    """Makes each form that this Spark can write."""
    with Testkit() as testkit, _session(jars) as spark:
        cluster = testkit.start("plain")
        for topic in ("orders", "payments"):
            cluster.create_topic(topic, 2)
        for name, query, settings in _forms(_Forms(spark, cluster)):
            checkpoint = folder / f"{name}-{pyspark.__version__}"
            shutil.rmtree(checkpoint, ignore_errors=True)
            for key, value in settings.items():
                spark.conf.set(key, value)
            try:
                _run(cluster, query, checkpoint)
            finally:
                for key in settings:
                    spark.conf.unset(key)
            if name != "aggregation":
                shutil.rmtree(checkpoint / "state", ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute(), ",".join(map(str, sorted(Path(sys.argv[2]).absolute().glob("*.jar")))))
