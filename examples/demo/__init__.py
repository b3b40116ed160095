"""The parts of the demo. What happens in it stands in examples/demo.py."""

import sys
from pathlib import Path

# The testkit is no package that anybody installs.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "jvm" / "testkit" / "python"))
