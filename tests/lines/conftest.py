"""Selects the tests for a Spark line."""

from __future__ import annotations

from dynamic_kafka import _artifact

# Real-time mode exists since Spark 4.1.
collect_ignore = ["test_real_time.py"] if _artifact.spark_line() == "4.0" else []
