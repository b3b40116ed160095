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
        what: The condition, for the text of the error.
        look: The condition. It may raise an exception to end the wait.
        deadline_s: The time limit in seconds.

    Raises:
        TimeoutError: after the time limit, with the last result.
    """
    end = time.monotonic() + deadline_s
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > end:
            raise TimeoutError(f"waited {deadline_s:g} s for: {what}; saw last: {found!r}")
        time.sleep(LOOK_EVERY_S)
