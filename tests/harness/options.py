"""Options as a data source takes them, for a builder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dynamic_kafka import DynamicKafkaBuilder


def set_all(builder: DynamicKafkaBuilder[Any], options: Mapping[str, str]) -> None:
    """Sets options of the connector, and properties of Kafka's clients."""
    properties = {name: value for name, value in options.items() if name.startswith("kafka.")}
    builder.set_properties(properties)
    builder.set_options({name: value for name, value in options.items() if name not in properties})
