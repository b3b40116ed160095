"""The program of `exact_upserts.py`: the example, which ends when the file `end` appears in its folder.

driver.py FOLDER [BATCH]

With BATCH, the driver kills itself after it has applied this batch, before Spark has logged that it is finished.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import change_data


def main(folder: Path, fatal: int = -1) -> None:
    """Run the query."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "1")
    spark = change_data.session(builder, str(folder / "warehouse"))
    change_data.create(spark)

    def apply(batch: DataFrame, number: int) -> None:
        with (folder / "begun").open("a") as begun:
            begun.write(f"{number}\n")
        change_data.upsert(batch, number)
        with (folder / "applied").open("a") as applied:
            applied.write(f"{number}\n")
        if number == fatal:
            os.killpg(os.getpgid(0), signal.SIGKILL)

    changes = change_data.changes(spark, str(folder / "streams.json")).set_metadata_discovery_interval("200ms")
    # With the age of 0, `processAllAvailable` is exact.
    changes = changes.set_option("maxOffsetsPerTrigger", 7).set_option("clusterSnapshotMaxAgeMs", 0)
    frame = changes.load()
    query = frame.writeStream.foreachBatch(apply).option("checkpointLocation", str(folder / "checkpoint")).start()
    while query.isActive and not (folder / "end").exists():
        time.sleep(0.1)
    if query.exception() is not None:
        raise AssertionError(query.exception())
    query.processAllAvailable()
    query.stop()
    change_data.current(spark).selectExpr("id", "name", "CAST(credit AS STRING)").write.json(str(folder / "rows"))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *(int(batch) for batch in sys.argv[2:]))
