"""A metadata service in Python whose answers a test changes."""

from __future__ import annotations

from dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream
from dynamic_kafka.model import State
from dynamic_kafka_testkit import Cluster

from tests.harness.waiting import until

STREAM = "orders"
# One call may have begun before the change, two confirm a removal, and when a further one ends they are in use.
CALLS = 4


class ChangingService(KafkaMetadataService):
    """Has one stream, with one topic of the same name on its clusters."""

    def __init__(self, topic: str, clusters: dict[str, Cluster]) -> None:
        self._topic = topic
        self._clusters = clusters
        self._states: dict[str, State] = {}
        self._calls = 0

    def define(self, **states: State) -> None:
        """From now on the stream is on these clusters."""
        self._states = states

    def change(self, **states: State) -> None:
        """Define the states; return when the running query uses the answer from its next batch on."""
        self.define(**states)
        before = self._calls
        until("answers of the service", lambda: self._calls >= before + CALLS)

    def get_all_streams(self) -> list[KafkaStream]:
        """The stream."""
        return [
            KafkaStream(
                STREAM,
                {
                    name: ClusterMetadata(
                        [self._topic], {"bootstrap.servers": self._clusters[name].bootstrap_servers}, state=state
                    )
                    for name, state in self._states.items()
                },
            )
        ]

    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        """The stream."""
        found = {stream.stream_id: stream for stream in self.get_all_streams()}
        self._calls += 1
        return found
