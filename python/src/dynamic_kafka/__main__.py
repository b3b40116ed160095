"""``python -m dynamic_kafka``: looks at metadata files and checkpoints, without Spark."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# Modules of the extra `cli` without which nothing works, and how they are called where they come from.
_NEEDED = {"click": "click", "jsonschema": "jsonschema", "yaml": "PyYAML"}


def main() -> int:
    """Runs the command line; returns only if it cannot be run."""
    missing = [name for module, name in _NEEDED.items() if find_spec(module) is None]
    if missing:
        names = ", ".join(missing)
        print(f"The command line needs {names}: pip install 'dynamic-kafka[cli]'", file=sys.stderr)
        return 2
    from dynamic_kafka._tools.cli.app import app

    app(prog_name="python -m dynamic_kafka")
    return 0


if __name__ == "__main__":
    sys.exit(main())
