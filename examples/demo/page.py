"""The page of the demo's drivers."""

from __future__ import annotations

import os
import socket
from typing import TypeVar

from dynamic_kafka import DynamicKafkaReaderBuilder, DynamicKafkaWriterBuilder

Builder = TypeVar("Builder", DynamicKafkaReaderBuilder, DynamicKafkaWriterBuilder)
# The port, for all drivers of a run.
UI_PORT = "DEMO_UI_PORT"


def free_port() -> int:
    """A port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def shown(builder: Builder) -> Builder:
    """The builder, of a query that is on the page of its driver."""
    if UI_PORT in os.environ:
        builder.set_option("ui", True).set_option("uiPort", os.environ[UI_PORT])
    return builder
