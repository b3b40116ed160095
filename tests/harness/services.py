"""A metadata service in Python that tests can delay."""

from __future__ import annotations

import json
import time
from pathlib import Path

from dynamic_kafka import ClusterMetadata, KafkaMetadataService, KafkaStream


class SlowFileService(KafkaMetadataService):
    """Returns a JSON document, after the number of seconds in the file `<path>.slow`, if it exists."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._slow = Path(f"{path}.slow")

    def get_all_streams(self) -> list[KafkaStream]:
        """Return all streams of the document."""
        document = json.loads(self._path.read_text())
        return [
            KafkaStream(
                stream_id,
                {
                    cluster: ClusterMetadata(entry["topics"], document["clusters"][cluster]["properties"])
                    for cluster, entry in stream["clusters"].items()
                },
            )
            for stream_id, stream in document["streams"].items()
        ]

    def describe_streams(self, stream_ids: list[str]) -> dict[str, KafkaStream]:
        """Return the requested streams, after the pause."""
        if self._slow.exists():
            end = time.monotonic() + float(self._slow.read_text())
            self._slow.with_suffix(".called").touch()
            while self._slow.exists() and time.monotonic() < end:
                # The service is slow on purpose, until another process deletes the file.
                time.sleep(0.02)
        return {stream.stream_id: stream for stream in self.get_all_streams() if stream.stream_id in stream_ids}
