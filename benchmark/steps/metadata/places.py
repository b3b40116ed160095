"""Where metadata is stored: each place with its service and a way to change it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dynamic_kafka import (
    FileMetadataService,
    HttpMetadataService,
    JvmMetadataService,
    KafkaTopicMetadataService,
    KubernetesConfigMapMetadataService,
    StrimziMetadataService,
)

from benchmark.context import Context, Record
from benchmark.query import jvm
from benchmark.sources import STREAM, Member, StreamsFile
from benchmark.steps.metadata.api_server import ApiServer

NAMESPACE = "data"


@dataclass(frozen=True)
class Place:
    """Metadata of one stream."""

    service: JvmMetadataService
    put: Callable[[Sequence[Member]], None]


def _document(members: Sequence[Member]) -> str:
    clusters = {m.cluster_id: {"properties": {"bootstrap.servers": m.bootstrap_servers}} for m in members}
    stream = {"clusters": {m.cluster_id: {"topics": [m.topic]} for m in members}}
    return json.dumps({"version": 1, "clusters": clusters, "streams": {STREAM: stream}})


@contextmanager
def _file(bench: Context) -> Iterator[Place]:
    path = bench.folder / "metadata.json"
    file = StreamsFile(path, [])
    yield Place(FileMetadataService(path), file.write)


@contextmanager
def _http(bench: Context) -> Iterator[Place]:
    current = {"document": b""}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = current["document"]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        service = HttpMetadataService(f"http://127.0.0.1:{server.server_port}/")
        yield Place(service, lambda members: current.update(document=_document(members).encode()))
        server.shutdown()


@contextmanager
def _kafka_topic(bench: Context) -> Iterator[Place]:
    cluster, topic = bench.near[0], "metadata-streams"
    cluster.create_topic(topic, configs={"cleanup.policy": "compact"})

    def put(members: Sequence[Member]) -> None:
        cluster.produce(topic, [Record(0, STREAM, _document(members))])

    yield Place(KafkaTopicMetadataService(cluster.bootstrap_servers, topic), put)


@contextmanager
def _api_server(bench: Context) -> Iterator[ApiServer]:
    """An API server that the driver finds by Java properties, as all of its Kubernetes clients do."""
    system = jvm(bench.spark).java.lang.System
    with ApiServer() as server:
        settings = {"kubernetes.master": server.url, "kubernetes.auth.tryKubeConfig": "false"}
        for name, value in settings.items():
            system.setProperty(name, value)
        try:
            yield server
        finally:
            for name in settings:
                system.clearProperty(name)


@contextmanager
def _config_map(bench: Context) -> Iterator[Place]:
    with _api_server(bench) as server:

        def put(members: Sequence[Member]) -> None:
            data = {"streams.json": _document(members)}
            server.put(configmaps=[{"metadata": {"name": "streams", "namespace": NAMESPACE}, "data": data}])

        yield Place(KubernetesConfigMapMetadataService(NAMESPACE, "streams", "streams.json"), put)


@contextmanager
def _strimzi(bench: Context) -> Iterator[Place]:
    with _api_server(bench) as server:

        def kafka(member: Member) -> dict[str, Any]:
            return {
                "metadata": {"name": member.cluster_id, "namespace": NAMESPACE},
                "spec": {"kafka": {"listeners": [{"name": "plain", "tls": False}]}},
                "status": {"listeners": [{"name": "plain", "bootstrapServers": member.bootstrap_servers}]},
            }

        def topic(member: Member) -> dict[str, Any]:
            labels = {"strimzi.io/cluster": member.cluster_id, "dynamic-kafka/stream": STREAM}
            return {
                "metadata": {"name": member.topic, "namespace": NAMESPACE, "labels": labels},
                "spec": {"topicName": member.topic},
            }

        def put(members: Sequence[Member]) -> None:
            server.put(kafkas=[kafka(m) for m in members], kafkatopics=[topic(m) for m in members])

        yield Place(StrimziMetadataService(NAMESPACE), put)


PLACES: dict[str, Callable[[Context], AbstractContextManager[Place]]] = {
    "file": _file,
    "http": _http,
    "kafka-topic": _kafka_topic,
    "configmap": _config_map,
    "strimzi": _strimzi,
}
POLLED = {"file", "http"}
"""The kinds of metadata whose services do not notice changes."""
