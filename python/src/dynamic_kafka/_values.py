"""Values of the builder to option strings."""

from __future__ import annotations

import re
from datetime import timedelta

_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


def option_text(name: str, value: str | int | float | bool) -> str:
    """An option's value as Spark spells it: ``True`` is ``true``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    raise TypeError(f"{name} takes a str, int, float or bool, not {type(value).__name__}")


def milliseconds(name: str, value: str | int | timedelta) -> int:
    """A duration in whole milliseconds: of ``"10s"``, of a timedelta, or of milliseconds themselves."""
    if isinstance(value, timedelta):
        whole, rest = divmod(value, timedelta(milliseconds=1))
        if rest:
            raise ValueError(f"{name} is in whole milliseconds, not {value!r}")
        return whole
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        found = re.fullmatch(r"\s*(-?\d+)\s*([a-zA-Z]*)\s*", value)
        unit = found and (found.group(2).lower() or "ms")
        if found and unit in _UNIT_MS:
            return int(found.group(1)) * _UNIT_MS[unit]
        raise ValueError(f"{name}: '{value}' is no duration such as 500ms, 10s, 5min, 2h, 1d")
    raise TypeError(f"{name} takes a str such as '10s', a timedelta or milliseconds, not {type(value).__name__}")


def limits(timeout: int | str | timedelta | None, ttl: int | str | timedelta | None) -> dict[str, str]:
    """The options of a metadata service for its two durations, as far as they are given."""
    given = [("timeout", timeout, 1), ("ttl", ttl, 0)]
    options = {}
    for name, value, least in given:
        if value is not None:
            number = milliseconds(name, value)
            if number < least:
                raise ValueError(f"{name} is {least} or more, not {value!r}")
            options[f"metadataService.{name}Ms"] = str(number)
    return options
