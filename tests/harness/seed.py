"""The seed of what is random."""

from __future__ import annotations

import os


def seed() -> int:
    """The same in each run of `make test`; `make test-all` gives another one each time, and prints it."""
    return int(os.environ.get("DYNAMIC_KAFKA_SEED", "20261122"))
