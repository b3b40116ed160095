"""Runs a soak test."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.harness.driver_pool import DriverPool

from .plan import Event, first_events, last_events, plan
from .world import World

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster


@dataclass
class Result:
    """The result of a successful soak test."""

    events: Counter[str]
    summary: str
    seconds: float


def soak(
    seed: int,
    count: int,
    folder: Path,
    brokers: Mapping[str, Cluster],
    drivers: DriverPool,
    log: Callable[[str], None] = print,
    world_of: type[World] = World,
) -> Result:
    """Run `count` random events; raises an AssertionError if a record is lost or duplicated."""
    log(f"soak: {count} events, seed {seed}")
    begin = time.monotonic()
    events = list(plan(seed, count, world_of.writes))
    world = world_of(folder, brokers, drivers)
    try:
        with world.load:
            for event in first_events():
                world.happen(event)
            world.happen(Event("start_driver"))
            for number, event in enumerate([*events, *last_events(events)]):
                log(f"{time.monotonic() - begin:6.1f} s  {number:3}  {event}")
                world.happen(event)
        world.await_exact()
    finally:
        world.close()
    return Result(
        events=Counter(event.kind for event in events), summary=world.summary(), seconds=time.monotonic() - begin
    )
