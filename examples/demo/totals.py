"""The third part's query: totals of payments in state, first on Spark's own Kafka source and then on this connector.

It has payments by number, with how often each was read. After the replacement some are read again, and the totals have
to contain each of them once.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import yaml
from dynamic_kafka import DynamicKafka, FileMetadataService
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from demo import page

GROUP = "totals"


def before(spark: SparkSession, streams: str, folder: Path, checkpoint: str) -> list[StreamingQuery]:
    """The query as it was: with Spark's own Kafka source."""
    properties = yaml.safe_load(Path(streams).read_text())["clusters"]["blue"]["properties"]
    payments = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", properties["bootstrap.servers"])
        .option("subscribe", "payments")
        .option("startingOffsets", "earliest")
        .load()
    )
    return [_start(payments, folder, checkpoint)]


def after(spark: SparkSession, streams: str, folder: Path, checkpoint: str) -> list[StreamingQuery]:
    """The same query with this connector, on the checkpoint that `migrate` has written."""
    payments = (
        page.shown(DynamicKafka.builder(spark))
        .set_kafka_metadata_service(FileMetadataService(streams))
        .set_stream_ids("payments")
        .set_metadata_discovery_interval("1s")
        .set_option("clusterFailurePolicy", "skip")
        # MirrorMaker has checkpoints of what a consumer group has committed.
        .set_option("commitOffsets", "true")
        .set_option("commitGroupId", GROUP)
        .set_option("replacedClusterPolicy", "mirror-maker")
        .set_option("mirrorMakerReplicationPolicy", "identity")
        .load()
    )
    return [_start(payments, folder, checkpoint)]


def _start(payments: DataFrame, folder: Path, checkpoint: str) -> StreamingQuery:
    payments.sparkSession.conf.set("spark.sql.shuffle.partitions", 2)
    fields = F.from_json(F.col("value").cast("string"), "id BIGINT, amount BIGINT")
    return (
        payments.select(fields.alias("payment"))
        .groupBy("payment.id")
        .agg(F.max("payment.amount").alias("amount"), F.count("*").alias("times"))
        .writeStream.outputMode("complete")
        .foreachBatch(lambda batch, _: _write(folder, batch))
        .option("checkpointLocation", checkpoint)
        .queryName("reader")
        .trigger(processingTime="1 second")
        .start()
    )


def _write(folder: Path, batch: DataFrame) -> None:
    unfinished = folder / "totals.unfinished"
    unfinished.write_text(json.dumps([tuple(row) for row in batch.collect()]))
    os.replace(unfinished, folder / "totals.json")


@dataclass(frozen=True)
class Totals:
    """What the query has counted: the number and the amount of each payment, once, and how often it was read again."""

    payments: list[tuple[int, int]]
    repeated: int

    @property
    def amount(self) -> int:
        return sum(amount for _, amount in self.payments)


def read(folder: Path) -> Totals:
    """Return what the query has written last."""
    file = folder / "totals.json"
    rows = json.loads(file.read_text()) if file.exists() else []
    return Totals([(number, amount) for number, amount, _ in rows], sum(times - 1 for *_, times in rows))
