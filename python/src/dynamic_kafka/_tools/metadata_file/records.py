"""The records of a metadata file in a compacted topic, as the metadata service ``kafka-topic`` reads them."""

from __future__ import annotations

import json
from typing import Any

from dynamic_kafka._tools.metadata_file.tree import Tree
from dynamic_kafka._tools.metadata_file.yaml_text import compose


class RecordsError(Exception):
    """A file that is valid, and cannot be published."""


def records(text: str) -> dict[str, str]:
    """Returns the value of the record of each stream of a valid metadata file, by stream id.

    A value is a document with exactly this stream and its clusters.

    Raises:
        RecordsError: if the file is Flink's list of streams.
    """
    document = Tree(compose(text)).value
    if not isinstance(document, dict) or "version" not in document:
        raise RecordsError(
            "a file in the format of Flink cannot be published: write 'version: 1', clusters and streams"
        )
    return {id: _record(document, id, stream) for id, stream in document["streams"].items()}


def _record(document: dict[str, Any], id: str, stream: dict[str, Any]) -> str:
    clusters = {name: document["clusters"][name] for name in stream["clusters"]}
    value = {"version": document["version"], "clusters": clusters, "streams": {id: stream}}
    return json.dumps(value, ensure_ascii=False)
