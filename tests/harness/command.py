"""The command line, as users call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    """What a command has printed."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        """The document that was printed; None if nothing was."""
        return json.loads(self.stdout) if self.stdout else None


def command(*arguments: object) -> Reply:
    """Run `python -m dynamic_kafka`."""
    program = [sys.executable, "-m", "dynamic_kafka", *map(str, arguments)]
    # Java says on standard error that it has options of the tests' sessions.
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    done = subprocess.run(program, capture_output=True, text=True, timeout=400, check=False, env=environment)
    assert "Traceback" not in done.stderr, done.stderr
    return Reply(done.returncode, done.stdout, done.stderr)
