"""Resolves references to secrets, as Kafka's providers ``file``, ``env`` and ``dir`` do."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dynamic_kafka._tools.kafka.error import KafkaSettingsError

_REFERENCE = re.compile(r"\$\{(\w+):(?:([^}]*?):)?([^}:]*)\}")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def resolved(properties: Mapping[str, str]) -> dict[str, str]:
    """Returns the properties with the values that references stand for.

    Raises:
        KafkaSettingsError: if a reference cannot be resolved. The message contains no value.
    """
    return {name: _resolved(name, value) for name, value in properties.items()}


def _resolved(name: str, value: str) -> str:
    return _REFERENCE.sub(lambda found: _value(name, *found.groups()), value)


def _value(name: str, provider: str, path: str | None, key: str) -> str:
    try:
        if provider == "file" and path:
            return _entries(Path(path).read_text("utf-8"))[key]
        if provider == "dir" and path:
            return (Path(path) / key).read_text("utf-8")
        if provider == "env":
            return os.environ[key]
    except KeyError:
        where = "the environment" if provider == "env" else path
        raise KafkaSettingsError(f"the reference of '{name}' cannot be resolved: {where} has no '{key}'") from None
    except (OSError, UnicodeDecodeError) as e:
        reason = e.strerror if isinstance(e, OSError) else "it is not UTF-8"
        raise KafkaSettingsError(f"the reference of '{name}' cannot be resolved: {path}: {reason}") from None
    raise KafkaSettingsError(
        f"the reference of '{name}' has the provider '{provider}', which only Java clients have"
    )


def _entries(text: str) -> dict[str, str]:
    """Java's properties: `key=value` or `key: value`, with comments, escapes and continued lines."""
    joined = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t\f]*", r"\1", text)
    found = {}
    for line in joined.splitlines():
        content = line.lstrip()
        if content and content[0] not in "#!":
            key, value = re.fullmatch(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", content, re.DOTALL).groups()  # type: ignore[union-attr]
            found[_unescaped(key)] = _unescaped(value)
    return found


def _unescaped(text: str) -> str:
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), text)
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text)
