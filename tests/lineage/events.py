"""The events that OpenLineage's listener has written to a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Event = dict[str, Any]
Datasets = frozenset[tuple[str, str]]


class Events:
    """A file with one event in each line."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def text(self) -> str:
        """All events."""
        return self._path.read_text() if self._path.exists() else ""

    def of(self, kind: str) -> list[Event]:
        """The events of one type, as COMPLETE, in order."""
        # The last line may be half written.
        whole, _, _ = self.text().rpartition("\n")
        events = [json.loads(line) for line in whole.splitlines()]
        return [event for event in events if event["eventType"] == kind]

    def batches(self, processing: str, kind: str = "COMPLETE") -> list[tuple[Datasets, Datasets]]:
        """Inputs and outputs of queries on Kafka, each one as often as it changes.

        Args:
            processing: STREAMING or BATCH.
            kind: The type of the events.
        """
        found: list[tuple[Datasets, Datasets]] = []
        for event in self.of(kind):
            both = datasets(event["inputs"]), datasets(event["outputs"])
            is_kind = event["job"]["facets"].get("jobType", {}).get("processingType") == processing
            if is_kind and any(both) and found[-1:] != [both]:
                found.append(both)
        return found


def datasets(of: list[Event]) -> Datasets:
    """The names of datasets, which are different ones."""
    names = [(dataset["namespace"], dataset["name"]) for dataset in of]
    assert len(set(names)) == len(names), names
    return frozenset(names)
