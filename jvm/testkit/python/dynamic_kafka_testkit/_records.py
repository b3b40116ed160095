"""What goes into a topic, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """A record to produce, with UTF-8 texts. A value of None is a tombstone."""

    partition: int
    key: str | None
    value: str | None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class StoredRecord:
    """A record as the broker holds it. The value of a tombstone is None."""

    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: Mapping[str, str]
    timestamp: int
