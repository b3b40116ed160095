"""The seed of random choices in tests: fixed, unless DYNAMIC_KAFKA_SEED is set."""

from __future__ import annotations

import os
import random

VARIABLE = "DYNAMIC_KAFKA_SEED"
# With this seed, clusters move in the short soak tests while the driver is dead, and while it runs.
FIXED = 91


def seed() -> int:
    """The seed, the same in all processes of a run. `random` is replaced by a number in the environment."""
    text = os.environ.get(VARIABLE) or str(FIXED)
    if text == "random":
        text = os.environ[VARIABLE] = str(random.randrange(1_000_000))
    return int(text)
