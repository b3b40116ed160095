"""``python -m dynamic_kafka``: inspects metadata files and checkpoints, without Spark."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# Required modules of the extra `cli`, and the names of their distributions.
_NEEDED = {"click": "click", "jsonschema": "jsonschema", "yaml": "PyYAML"}


def main() -> int:
    """Runs the command line; returns only if a module is missing."""
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
