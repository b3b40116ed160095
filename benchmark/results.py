"""What a run has found: every raw figure, the tables made of them, the values that have a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmark.targets import TARGETS


@dataclass(frozen=True)
class Table:
    """A table as it is printed and kept."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Results:
    """Filled by the steps."""

    raw: list[dict[str, Any]] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    machine: list[dict[str, Any]] = field(default_factory=list)

    def add(self, step: str, **figures: Any) -> None:
        """Keep one raw measurement."""
        self.raw.append({"step": step, **figures})

    def value(self, target: str, value: float) -> None:
        """Set what is held against a target."""
        if target not in TARGETS:
            raise KeyError(target)
        self.values[target] = value

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Keep a table for the report."""
        self.tables.append(Table(title, columns, rows))
