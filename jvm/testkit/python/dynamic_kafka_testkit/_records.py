"""Records to produce, and records in a broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Record:
    """A record to produce, with UTF-8 strings. A value of None is a tombstone.

    `timestamp` is in epoch milliseconds; by default, it is the time of the call.
    """

    partition: int
    key: str | None
    value: str | None
    headers: Mapping[str, str] = field(default_factory=dict)
    timestamp: int | None = None


@dataclass(frozen=True)
class StoredRecord:
    """A record in the broker. The value of a tombstone is None."""

    partition: int
    offset: int
    key: str | None
    value: str | None
    headers: Mapping[str, str]
    timestamp: int
