"""A JVM of its own for a session in the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext


@contextmanager
def own_jvm() -> Iterator[None]:
    """Sessions in this block run in a new JVM.

    PySpark starts one JVM for each process, whose class path has the jars of the first session. So a test whose
    session needs other jars would fail behind another test.
    """
    context: Any = SparkContext
    before = context._gateway, context._jvm
    context._gateway = context._jvm = None
    try:
        yield
    finally:
        own = context._gateway
        context._gateway, context._jvm = before
        if own is not None:
            own.shutdown()
            # The JVM runs until its input ends.
            own.proc.stdin.close()
            own.proc.wait(60)
