"""Waits for conditions instead of sleeping for a fixed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

DEADLINE_S = 300.0
LOOK_EVERY_S = 0.05


def until(what: str, look: Callable[[], T], deadline_s: float = DEADLINE_S) -> T:
    """Poll until the result is true, and return it.

    Args:
        what: For the error: what is waited for.
        look: Raises to end the wait at once.
        deadline_s: When to give up.

    Raises:
        TimeoutError: at the deadline, with what was seen last.
    """
    end = time.monotonic() + deadline_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline_s:g} s for: {what}; saw last: {found!r}")
        time.sleep(LOOK_EVERY_S)
