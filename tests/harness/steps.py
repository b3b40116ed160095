"""Halts the commits of a driver's queries at a given step."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession


class Steps:
    """Replaces the probe that the sink calls at each step. One instance for all queries of a driver.

    Args:
        spark: The session of the driver.
        stuck: Called with the query, the step and the batch at which it is halted.
    """

    def __init__(self, spark: SparkSession, stuck: Callable[[str, str, int], None]) -> None:
        self._stuck = stuck
        self._halts: dict[str, tuple[str, int | None]] = {}
        self._released: dict[str, threading.Event] = {}
        jvm: Any = spark._jvm
        self._jvm = jvm
        package = self._jvm.io.github.dynamickafka.sink.commit
        companion = getattr(package, "CommitProbe$")
        getattr(getattr(companion, "MODULE$"), "installed_$eq")(self)

    def halt(self, query: str, step: str, batch: int | None) -> None:
        """Halt a query once at a step of a batch, or of the first batch that reaches it."""
        self._halts[query] = (step, batch)
        self._released[query] = threading.Event()

    def forget(self, query: str) -> None:
        """Do not halt the query, whose last run may have ended before it was halted."""
        self._halts.pop(query, None)

    def release(self, query: str) -> None:
        """Resume the query."""
        self._released[query].set()

    def reached(self, step: Any, batch: int) -> None:
        """Called by the sink on the thread of the query."""
        query = self._query()
        step = str(step.name())
        if self._halts.get(query) in ((step, batch), (step, None)):
            self._stuck(query, step, batch)
            self._released[query].wait()
            self._halts.pop(query)

    def oneByOne(self) -> bool:
        """Called by the sink."""
        return self._halts.get(self._query(), ("", 0))[0] == "between-commits"

    def _query(self) -> str:
        # py4j runs a nested call on the calling thread.
        name = str(self._jvm.java.lang.Thread.currentThread().getName())
        found = re.match(r"stream execution thread for (\S+) \[", name)
        assert found is not None, name
        return found[1]

    class Java:
        """Declares the interface to py4j."""

        implements = ["io.github.dynamickafka.sink.commit.CommitProbe"]  # noqa: RUF012 - read by py4j
