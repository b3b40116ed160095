"""Which tests a Spark line has."""

from __future__ import annotations

from dynamic_kafka import _artifact

# There is no real-time mode before Spark 4.1.
collect_ignore = ["test_real_time.py"] if _artifact.spark_line() == "4.0" else []
