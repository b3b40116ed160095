"""The time from a record to its reader, in micro-batches and in real-time mode."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.steps.live import batches, real_time


def run(bench: Context) -> None:
    """Measure both modes."""
    batches.run(bench)
    real_time.run(bench)
