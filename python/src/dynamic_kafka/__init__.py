"""Dynamic Kafka for Spark: reads and writes streams that are distributed over several Kafka clusters."""

from dynamic_kafka._base import DynamicKafkaBuilder
from dynamic_kafka._version import __version__
from dynamic_kafka.codec import document
from dynamic_kafka.entry import DynamicKafka
from dynamic_kafka.errors import DynamicKafkaError
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
