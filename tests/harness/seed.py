"""Where random choices of the tests begin: everywhere the same, unless DYNAMIC_KAFKA_SEED says otherwise."""

from __future__ import annotations

import os
import random

VARIABLE = "DYNAMIC_KAFKA_SEED"
# Its short soaks have moves of clusters while the driver is dead, and while it runs.
FIXED = 91


def seed() -> int:
    """A number, the same for all processes of a run. `random` is replaced by one in the environment."""
    text = os.environ.get(VARIABLE) or str(FIXED)
    if text == "random":
        text = os.environ[VARIABLE] = str(random.randrange(1_000_000))
    return int(text)
