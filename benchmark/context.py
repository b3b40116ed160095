"""What the steps share: the session, brokers, sizes and results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from pyspark.sql import SparkSession

from benchmark import session
from benchmark.paths import use_testkit
from benchmark.results import Results
from benchmark.sizes import Sizes
from benchmark.sources import Member

use_testkit()

from dynamic_kafka_testkit import Cluster, Record, Testkit  # noqa: E402

__all__ = ["KAFKA_THREADS", "Cluster", "Context", "Record", "Testkit"]

# Kafka's defaults. The testkit's brokers have fewer, for tests.
KAFKA_THREADS = {"num.io.threads": "8", "num.network.threads": "3"}


@dataclass
class Context:
    """One run. Brokers and the session start when a step first needs them."""

    testkit: Testkit
    sizes: Sizes
    results: Results
    folder: Path
    say: Callable[[str], None]
    former: Path | None = None
    """The folder of another version of the Python package, for a comparison."""
    topics: set[tuple[str, str]] = field(default_factory=set)

    @cached_property
    def spark(self) -> SparkSession:
        """The session of all steps."""
        return session.start()

    @cached_property
    def near(self) -> list[Cluster]:
        """Two brokers on this machine."""
        return self.testkit.start_all("near-a", "near-b", properties=KAFKA_THREADS)

    @cached_property
    def far(self) -> list[Cluster]:
        """Two brokers with an added round trip."""
        trip = self.sizes.round_trip_ms
        return [
            self.testkit.start(name, round_trip_ms=trip, properties=KAFKA_THREADS) for name in ("far-a", "far-b")
        ]

    def member(self, cluster: Cluster, cluster_id: str, topic: str, records: int) -> Member:
        """A cluster id for a topic with this number of records, which the first call creates."""
        if (cluster.name, topic) not in self.topics:
            cluster.create_topic(topic, partitions=self.sizes.partitions)
            if records:
                cluster.load(topic, records, self.sizes.record_bytes)
            self.topics.add((cluster.name, topic))
        return Member(cluster_id, cluster.bootstrap_servers, topic)

    def members(self, clusters: list[Cluster], prefix: str, count: int, records: int) -> list[Member]:
        """This number of cluster ids over these brokers in turn, each with its own topic."""
        return [
            self.member(clusters[i % len(clusters)], f"cluster-{i:03d}", f"{prefix}-{i}", records)
            for i in range(count)
        ]

    def close(self) -> None:
        """Stop the session; the testkit ends the brokers."""
        if "spark" in self.__dict__:
            self.spark.stop()
