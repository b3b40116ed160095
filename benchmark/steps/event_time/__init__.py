"""Event time over clusters of different lag: what is lost with and without alignment, and what alignment costs."""

from __future__ import annotations

from benchmark.context import Context
from benchmark.steps.event_time import backfill, changes, idle, lags, rate, requests


def run(bench: Context) -> None:
    """Run all parts."""
    for part in (lags, changes, rate, requests, idle, backfill):
        part.run(bench)
