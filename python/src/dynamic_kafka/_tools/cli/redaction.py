"""Which Kafka properties may be printed with their values.

``redaction.json`` names the harmless properties; every other property is a secret. The connector's jar contains
the same file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

REDACTED = "(redacted)"


@cache
def harmless() -> dict[str, re.Pattern[str]]:
    """The pattern that a harmless property's value matches, by the property's name."""
    kinds = json.loads((resources.files("dynamic_kafka") / "redaction.json").read_text("utf-8"))
    return {
        name: re.compile(kind["pattern"])
        for kind in kinds.values()
        if isinstance(kind, dict)
        for name in kind["properties"]
    }


def shown(name: str, value: str) -> str:
    """Returns the value if it may be printed, else :data:`REDACTED`. A ``${...}`` reference is a secret."""
    pattern = harmless().get(name.lower())
    safe = "${" not in value and pattern is not None and pattern.fullmatch(value.strip())
    return value if safe else REDACTED


def shown_all(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns all properties in the order of their names; secret values are :data:`REDACTED`."""
    return {name: shown(name, value) for name, value in sorted(properties.items())}
