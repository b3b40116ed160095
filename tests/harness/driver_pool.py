"""The drivers of a test run. Starting one takes seconds, so tests share one, and a spare one can be killed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from .driver_process import DriverProcess


class DriverPool:
    """All drivers of a test run.

    Args:
        folder: For the logs of the drivers.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._started: list[DriverProcess] = []
        self._shared = self._start()
        self._spare: DriverProcess | None = None

    def shared(self) -> DriverProcess:
        """Return the driver that many tests share."""
        if not self._shared.is_alive():
            self._shared = self._start()
        return self._shared.ready()

    def doomed(self) -> DriverProcess:
        """Return a driver that the test may kill."""
        taken, self._spare = self._spare or self._start(), None
        return taken.ready()

    def configured(self, conf: Mapping[str, str]) -> DriverProcess:
        """Return a driver for one test, whose session has additional settings."""
        return self._start(conf).ready()

    def prepare(self) -> None:
        """Start the driver that the next call of `doomed` returns, so that the test does not wait for it."""
        if self._spare is None:
            self._spare = self._start()

    def close(self) -> None:
        """Kill all drivers."""
        for driver in self._started:
            driver.kill()

    def _start(self, conf: Mapping[str, str] | None = None) -> DriverProcess:
        driver = DriverProcess(self._folder / f"driver-{next(self._numbers)}", conf)
        self._started.append(driver)
        return driver
