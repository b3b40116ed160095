"""The cases in tests/conformance, which the Scala suites also read."""

from __future__ import annotations

import json
from typing import Any

from conftest import REPOSITORY


def cases(kind: str) -> list[dict[str, Any]]:
    """All cases of a folder of tests/conformance.

    Args:
        kind: The folder, such as ``metadata``.
    """
    files = sorted((REPOSITORY / "tests/conformance" / kind).rglob("*.json"))
    return [case for file in files for case in json.loads(file.read_text("utf-8"))]
