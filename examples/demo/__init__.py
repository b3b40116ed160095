"""The parts of the demo; examples/demo.py has its events."""

import sys
from pathlib import Path

# The testkit is not an installed package.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "testkit" / "python"))
