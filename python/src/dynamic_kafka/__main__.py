"""``python -m dynamic_kafka``: the command line."""

from __future__ import annotations

import sys

from dynamic_kafka import _command

if __name__ == "__main__":
    _command.main(sys.argv[1:])
