"""What a document says about the format of records."""

from __future__ import annotations

from typing import Any

from dynamic_kafka._tools.metadata_file.place import Path
from dynamic_kafka._tools.metadata_file.tree import Tree

_NAMES = {"format": "format", "key_format": "keyFormat", "schema": "schema"}


def format_options(tree: Tree, path: Path, part: dict[str, Any]) -> dict[str, str]:
    """Returns options of the data source.

    Args:
        tree: The document, without errors.
        path: Where ``part`` is.
        part: A stream, its entry for a cluster, or a cluster; the latter two have a registry only.
    """
    found = {name: tree.text((*path, "options", name)) for name in part.get("options", {})}
    found |= {option: part[key] for key, option in _NAMES.items() if key in part}
    fields = part.get("key_fields")
    if fields is not None:
        found["keyFields"] = fields if isinstance(fields, str) else ";".join(fields)
    registry = part.get("registry", {})
    if isinstance(registry, str):
        return found | {"registry.url": registry}
    return found | {f"registry.{name}": tree.text((*path, "registry", name)) for name in registry}


def has_registry(options: dict[str, str]) -> bool:
    """Whether the options name a registry."""
    return any(name.startswith("registry.") for name in options)
