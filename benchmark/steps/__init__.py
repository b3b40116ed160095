"""The steps of the benchmark, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable

from benchmark.context import Context
from benchmark.steps import (
    avro,
    bare,
    columns,
    commands,
    compressed,
    cost,
    decode,
    discovery,
    event_time,
    ids,
    large,
    memory,
    metadata,
    offsets,
    planning,
    protobuf,
    scale,
    sink,
    start,
    stop,
    throughput,
    wan,
)
from benchmark.steps.live import faults, idle, latency

STEPS: dict[str, Callable[[Context], None]] = {
    "offsets": offsets.run,
    "throughput": throughput.run,
    "bare": bare.run,
    "cost": cost.run,
    "json": decode.run,
    "avro": avro.run,
    "protobuf": protobuf.run,
    "columns": columns.run,
    "compressed": compressed.run,
    "scale": scale.run,
    "ids": ids.run,
    "stop": stop.run,
    "discovery": discovery.run,
    "metadata": metadata.run,
    "planning": planning.run,
    "start": start.run,
    "wan": wan.run,
    "latency": latency.run,
    "idle": idle.run,
    "faults": faults.run,
    "large": large.run,
    "memory": memory.run,
    "sink": sink.run,
    "event-time": event_time.run,
    "commands": commands.run,
}
