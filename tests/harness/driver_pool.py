"""The drivers of a test run: starting one takes seconds, so tests share one, and a spare one is ready to be killed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path

from .driver_process import DriverProcess


class DriverPool:
    """All drivers of a run.

    Args:
        folder: For their logs.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self._started: list[DriverProcess] = []
        self._shared = self._start()
        self._spare: DriverProcess | None = None

    def shared(self) -> DriverProcess:
        """One that lives on; many queries run in it."""
        if not self._shared.is_alive():
            self._shared = self._start()
        return self._shared.ready()

    def doomed(self) -> DriverProcess:
        """One of its own, to be killed."""
        taken, self._spare = self._spare or self._start(), None
        return taken.ready()

    def configured(self, conf: Mapping[str, str]) -> DriverProcess:
        """One of its own, whose session has these settings too."""
        return self._start(conf).ready()

    def prepare(self) -> None:
        """Start what the next `doomed` gives, so that it need not be waited for."""
        if self._spare is None:
            self._spare = self._start()

    def close(self) -> None:
        """Kill all of them."""
        for driver in self._started:
            driver.kill()

    def _start(self, conf: Mapping[str, str] | None = None) -> DriverProcess:
        driver = DriverProcess(self._folder / f"driver-{next(self._numbers)}", conf)
        self._started.append(driver)
        return driver
