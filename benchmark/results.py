"""The results of a run: every raw figure, the tables, and the values that have a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.targets import TARGETS


@dataclass(frozen=True)
class Table:
    """A table as it is printed and stored."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Results:
    """The results of a run, filled by the steps."""

    raw: list[dict[str, Any]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    machine: list[dict[str, Any]] = field(default_factory=list)

    def add(self, step: str, **figures: Any) -> None:
        """Add a raw measurement."""
        self.raw.append({"step": step, **figures})

    def value(self, target: str, value: float) -> None:
        """Set the value that is compared with a target."""
        if target not in TARGETS:
            raise KeyError(target)
        self.values[target] = value

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table to the report."""
        self.tables.append(Table(title, columns, rows))
