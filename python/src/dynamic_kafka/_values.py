"""Converts values to option texts."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any

Value = str | int | float | bool
_UNIT_MS = {"ms": 1, "s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_LEAST_MS = {"timeout": 1, "ttl": 0}


def option_text(name: str, value: Value) -> str:
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


def arguments(of: Any, prefix: str) -> dict[str, str]:
    """Returns the fields of a dataclass that are set as options: the prefix and the name in camel case.

    Raises:
        TypeError: if a value has no text.
        ValueError: if a time is not a duration, or too small.
    """
    options: dict[str, str] = {}
    for field in fields(of):
        value = getattr(of, field.name)
        first, *others = field.name.split("_")
        name = prefix + first + "".join(word.capitalize() for word in others)
        if value is None or value == "":
            continue
        if field.name in _LEAST_MS:
            number, least = milliseconds(field.name, value), _LEAST_MS[field.name]
            if number < least:
                raise ValueError(f"{field.name} must be {least} or more, not {value!r}")
            options[f"{name}Ms"] = str(number)
        elif isinstance(value, Mapping):
            options |= {f"{name}.{key}": option_text(key, text) for key, text in value.items()}
        elif is_dataclass(value):
            options |= arguments(value, f"{name}.")
        else:
            options[name] = os.fspath(value) if isinstance(value, os.PathLike) else option_text(field.name, value)
    return options
