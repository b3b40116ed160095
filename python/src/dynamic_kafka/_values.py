"""Converts values to option texts."""

from __future__ import annotations

import re
from datetime import timedelta

_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def option_text(name: str, value: str | int | float | bool) -> str:
    """Returns a value as the text of an option: ``True`` becomes ``true``.

    Raises:
        TypeError: if the value is not a str, int, float or bool.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name} takes a str, int, float or bool, not {type(value).__name__}")


def milliseconds(name: str, value: str | int | timedelta) -> int:
    """Returns a duration in milliseconds, of text such as ``"10s"``, a timedelta, or a number of milliseconds.

    Raises:
        TypeError: if the value is of another type.
        ValueError: if the text is not a duration, or the timedelta is not in whole milliseconds.
    """
    if isinstance(value, timedelta):
        whole, rest = divmod(value, timedelta(milliseconds=1))
        if rest:
            raise ValueError(f"{name} must be in whole milliseconds, not {value!r}")
        return whole
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(-?\d+)\s*([a-zA-Z]*)\s*", value)
        unit = found and (found.group(2).lower() or "ms")
        if found and unit in _UNIT_MS:
            return int(found.group(1)) * _UNIT_MS[unit]
        raise ValueError(f"{name}: '{value}' is not a duration such as 500ms, 10s, 5min, 2h, 1d")
    raise TypeError(f"{name} takes a str such as '10s', a timedelta or milliseconds, not {type(value).__name__}")


def limits(timeout: int | str | timedelta | None, ttl: int | str | timedelta | None) -> dict[str, str]:
    """Returns the options of a metadata service for the durations that are not None."""
    given = [("timeout", timeout, 1), ("ttl", ttl, 0)]
    options = {}
    for name, value, least in given:
        if value is not None:
            number = milliseconds(name, value)
            if number < least:
                raise ValueError(f"{name} must be {least} or more, not {value!r}")
            options[f"metadataService.{name}Ms"] = str(number)
    return options
