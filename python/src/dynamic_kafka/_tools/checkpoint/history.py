"""The histories of a query, which are read before Kafka, as its checkpoint lists them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import SourceId


@dataclass(frozen=True)
class History:
    """What the first start has found.

    Attributes:
        files: The number of files by stream id.
        followed: Clusters and topics where Kafka follows on the files, also if they enter later.
    """

    files: Mapping[str, int] = field(default_factory=dict)
    followed: frozenset[tuple[str, str]] = frozenset()

    def pending(self, read: Mapping[str, int]) -> int:
        """The number of files that are not read.

        Args:
            read: The number of files that are read, by stream id.
        """
        return sum(max(0, files - read.get(stream, 0)) for stream, files in self.files.items())


def history_of(checkpoint: Path, source: SourceId) -> History:
    """Returns the histories; there are none if the checkpoint lists none.

    Raises:
        CheckpointError: if the file that lists them cannot be read.
    """
    file = checkpoint / "sources" / str(source) / "dynamic-kafka" / "initial.json"
    if not file.is_file():
        return History()
    try:
        root = json.loads(file.read_text("utf-8")).get("history")
        if root is None:
            return History()
        return History(
            {stream: len(table["files"]) for stream, table in root["streams"].items()},
            frozenset(
                (cluster, topic)
                for section in ("offsets", "times", "topicTimes")
                for cluster, topics in root[section].items()
                for topic in topics
            ),
        )
    except (json.JSONDecodeError, LookupError, TypeError, AttributeError):
        raise CheckpointError(f"{file} is not an initial offset that the connector wrote") from None
