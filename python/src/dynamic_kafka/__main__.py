"""``python -m dynamic_kafka``: the command line."""

from __future__ import annotations

import sys
from importlib.util import find_spec

# Commands that do not run the connector's jar yet.
_IN_PYTHON = {
    "migrate",
    "rename-cluster",
    "restore",
}
# Modules that these need, and the names of their distributions.
_NEEDED = {"click": "click", "jsonschema": "jsonschema", "yaml": "PyYAML"}


def main() -> int:
    """Runs the command line; returns only if a module is missing."""
    if not _IN_PYTHON.intersection(sys.argv[1:2]):
        from dynamic_kafka import _command

        _command.main(sys.argv[1:])
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
