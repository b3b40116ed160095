"""Dynamic Kafka for Spark: reads and writes streams that are distributed over several Kafka clusters."""

from importlib import import_module
from typing import TYPE_CHECKING

from dynamic_kafka._version import __version__

if TYPE_CHECKING:
    from dynamic_kafka._base import DynamicKafkaBuilder
    from dynamic_kafka.codec import document
    from dynamic_kafka.entry import DynamicKafka
    from dynamic_kafka.errors import DynamicKafkaError, DynamicKafkaValueError
    from dynamic_kafka.model import ClusterMetadata, History, KafkaStream
    from dynamic_kafka.offsets import OffsetsInitializer
    from dynamic_kafka.reader import DynamicKafkaReaderBuilder
    from dynamic_kafka.remote import (
        ClientCredentials,
        HttpMetadataService,
        JdbcMetadataService,
        KafkaTopicMetadataService,
        KubernetesConfigMapMetadataService,
        StrimziMetadataService,
    )
    from dynamic_kafka.services import (
        FileMetadataService,
        JvmMetadataService,
        KafkaMetadataService,
        SingleClusterMetadataService,
        StaticMetadataService,
    )
    from dynamic_kafka.writer import DynamicKafkaWriterBuilder

__all__ = [
    "ClientCredentials",
    "ClusterMetadata",
    "DynamicKafka",
    "DynamicKafkaBuilder",
    "DynamicKafkaError",
    "DynamicKafkaReaderBuilder",
    "DynamicKafkaValueError",
    "DynamicKafkaWriterBuilder",
    "FileMetadataService",
    "History",
    "HttpMetadataService",
    "JdbcMetadataService",
    "JvmMetadataService",
    "KafkaMetadataService",
    "KafkaStream",
    "KafkaTopicMetadataService",
    "KubernetesConfigMapMetadataService",
    "OffsetsInitializer",
    "SingleClusterMetadataService",
    "StaticMetadataService",
    "StrimziMetadataService",
    "__version__",
    "document",
]

_MODULES = ("errors", "model", "codec", "offsets", "options", "services", "remote", "reader", "writer", "entry")


if not TYPE_CHECKING:  # A type checker would accept any name.
    # The command line starts in half of the time without PySpark, which these modules import.
    def __getattr__(name):
        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for module in _MODULES:
                found = vars(import_module(f"{__name__}.{module}"))
                if name in found:
                    return globals().setdefault(name, found[name])
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
