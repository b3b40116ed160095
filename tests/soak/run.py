"""Runs a soak test."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.driver_pool import DriverPool

from .layout import Event
from .plan import NOTHING_LOST, Scope, first_events, last_events, plan
from .real_time_world import RealTimeWorld
from .sink_world import SinkWorld
from .timeouts import check_reached
from .world import World

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster

# Unread records that Kafka deletes are lost, which the comparison knows.
LOSSES = {"failOnDataLoss": "false"}


@dataclass(frozen=True)
class Length:
    """How long a soak test lasts.

    Args:
        events: The number of events; None: as many as there is time for.
        minutes: After this time no other event begins; None: no limit.
    """

    events: int | None = None
    minutes: float | None = None

    def __str__(self) -> str:
        """The text for the log of a run."""
        return f"{self.events} events" if self.minutes is None else f"{self.minutes:g} minutes of events"


@dataclass
class Result:
    """The result of a successful soak test."""

    summary: str = ""
    seconds: float = 0.0
    events: Counter[str] = field(default_factory=Counter)
    loads: list[float] = field(default_factory=list)
    """The load average of the machine at each event."""


def soak(
    seed: int,
    length: Length,
    folder: Path,
    brokers: Mapping[str, Cluster],
    drivers: DriverPool,
    log: Callable[[str], None] = print,
    scope: Scope = NOTHING_LOST,
    pause_s: float = 0.25,
) -> Result:
    """Run random events; raises an AssertionError if there is an anomaly."""
    log(f"soak: {length}, {scope}, seed {seed}")
    begin = time.monotonic()
    result = Result()
    events: list[Event] = []
    options = LOSSES if scope.losses else None
    world: World
    if scope.real_time:
        world = RealTimeWorld(folder, brokers, drivers, pause_s)
    elif scope.writes:
        world = SinkWorld(folder, brokers, drivers, options, pause_s, state=scope.state)
    else:
        world = World(folder, brokers, drivers, options, pause_s)

    def happen(event: Event) -> None:
        log(f"{time.monotonic() - begin:6.1f} s  {len(events):3}  {event}")
        result.loads.append(os.getloadavg()[0])
        world.happen(event)

    try:
        with world.watched():
            with world.load:
                for event in first_events():
                    world.happen(event)
                world.happen(Event("start_driver"))
                for event in plan(seed, length.events, scope):
                    happen(event)
                    events.append(event)
                    over = length.minutes is not None and time.monotonic() - begin > length.minutes * 60
                    if over and world.is_up():
                        break
                for event in last_events(events):
                    happen(event)
            world.await_exact()
    except (AssertionError, TimeoutError):
        log(f"so far {dict(Counter(event.kind for event in events))}; {world.summary()}")
        raise
    finally:
        world.close()
    if scope.timeouts:
        check_reached(length.minutes, world.reached())
    result.events = Counter(event.kind for event in events)
    result.summary, result.seconds = world.summary(), time.monotonic() - begin
    return result
