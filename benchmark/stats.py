"""Medians with their spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Spread:
    """What a figure was over all rounds."""

    median: float
    low: float
    high: float
    runs: int

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Of at least one value."""
        return Spread(statistics.median(values), min(values), max(values), len(values))

    def show(self, digits: int = 2) -> str:
        """Median, least and most."""
        if self.runs == 1:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def ratios(these: Sequence[float], those: Sequence[float]) -> Spread:
    """Pair by pair, so that what slows a whole round down slows both."""
    return Spread.of([a / b for a, b in zip(these, those, strict=True)])
