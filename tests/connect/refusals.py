"""A client of a Connect server: unsupported calls, and errors of the connector.

python -m tests.connect.refusals URL STREAMS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

from dynamic_kafka import DynamicKafka, FileMetadataService, KafkaMetadataService, KafkaStream, OffsetsInitializer
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


class Mine(KafkaMetadataService):
    """A service in this process."""

    def get_all_streams(self) -> list[KafkaStream]:
        """Return no stream."""
        return []

    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        """Return no stream."""
        return {}


def refusal(attempt: Callable[[], object]) -> list[str | None]:
    """The condition and the text of the error."""
    try:
        attempt()
    except PySparkException as e:
        return [e.getCondition(), str(e)]
    return [None, "accepted"]


def main(url: str, streams: str) -> None:
    """Print the refusals."""
    configure = refusal(lambda: DynamicKafka.configure(SparkSession.builder.remote(url)))
    spark = SparkSession.builder.remote(url).getOrCreate()
    file = FileMetadataService(streams)
    misspelt = DynamicKafka.builder(spark).set_kafka_metadata_service(file).set_options({"streamIdz": "orders"})
    python = DynamicKafka.builder(spark).set_kafka_metadata_service(Mine()).set_stream_ids("orders")
    function = DynamicKafka.builder(spark).set_kafka_metadata_service(file).set_stream_ids("orders")
    function.set_starting_offsets(OffsetsInitializer.of(lambda cluster, topic, partitions: {0: 0}))
    found = {
        "configure": configure,
        "python": refusal(python.load),
        "python_batch": refusal(python.load_batch),
        # Over Connect a plan is only analyzed when a result is requested.
        "misspelt": refusal(lambda: misspelt.load().schema),
        "function": refusal(lambda: function.load_batch().collect()),
        "misspelt_batch": refusal(lambda: misspelt.load_batch().collect()),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
