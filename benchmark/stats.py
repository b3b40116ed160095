"""Medians with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """A figure over all rounds."""

    median: float
    low: float
    high: float
    runs: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """The spread of at least one value."""
        return Spread(statistics.median(values), min(values), max(values), len(values))

    def show(self, digits: int = 2) -> str:
        """The median, minimum and maximum as text."""
        if self.runs == 1:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def ratios(these: Sequence[float], those: Sequence[float]) -> Spread:
    """The ratios of adjacent runs, so that a slow round affects both."""
    return Spread.of([a / b for a, b in zip(these, those, strict=True)])
