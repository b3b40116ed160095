"""Serves clusters that a provider lists as a document for the metadata service `http`, for the programs beside it.

A file has the streams, in JSON: for each the topics, a regular expression that selects clusters by their whole name,
and states other than `active` by cluster name:

    {"orders": {"topics": ["orders"], "clusters": "prod-.*", "states": {"prod-old": "draining"}}}

What is not known completely is never served: a cluster without an address and a stream without clusters are status 503,
with the reason. The connector then keeps the last good topology.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Listed:
    """A cluster as the provider lists it. `servers` is None as long as it has no address."""

    cluster_id: str
    name: str
    servers: str | None
    why: str = ""


class Unknown(Exception):
    """The answer is not known completely."""


def document(listed: Iterable[Listed], rules: dict[str, Any], properties: dict[str, str]) -> dict[str, Any]:
    """The document of the metadata file, with the same properties for each cluster.

    Raises:
        Unknown: if a cluster has no address, or a stream no cluster.
    """
    found = sorted(listed, key=lambda cluster: cluster.cluster_id)
    clusters: dict[str, Any] = {}
    streams: dict[str, Any] = {}
    for stream, rule in rules.items():
        own = [cluster for cluster in found if re.fullmatch(rule["clusters"], cluster.name)]
        if not own:
            raise Unknown(f"stream '{stream}': no cluster has a name that matches '{rule['clusters']}'")
        entries = {}
        for cluster in own:
            if cluster.servers is None:
                raise Unknown(f"stream '{stream}': cluster '{cluster.name}' has no address: {cluster.why}")
            clusters[cluster.cluster_id] = {"properties": {**properties, "bootstrap.servers": cluster.servers}}
            state = rule.get("states", {}).get(cluster.name, "active")
            entries[cluster.cluster_id] = {"topics": rule["topics"], "state": state}
        streams[stream] = {"clusters": entries}
    return {"version": 1, "clusters": clusters, "streams": streams}


def server(port: int, host: str, answer: Callable[[], dict[str, Any]]) -> ThreadingHTTPServer:
    """A server that calls the provider for each request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                status, body = 200, json.dumps(answer())
            except Exception as error:  # Whatever it is, the connector has to keep what it has.
                status, body = 503, f"{type(error).__name__}: {error}"
                self.log_error("%s", body)
            self.send_response(status)
            self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
            self.end_headers()
            self.wfile.write(body.encode())

    return ThreadingHTTPServer((host, port), Handler)


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """What both programs have, beside the arguments of one of them."""
    parser.add_argument("streams", type=Path, help="the file with the streams")
    parser.add_argument("--properties", type=Path, help="Kafka properties of each cluster, a JSON object")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    return parser.parse_args()


def serve(options: argparse.Namespace, listed: Callable[[], Iterable[Listed]]) -> None:
    """Serve until interrupted. Both files are read for each request, so that a change needs no restart."""

    def answer() -> dict[str, Any]:
        properties = json.loads(options.properties.read_text()) if options.properties else {}
        return document(listed(), json.loads(options.streams.read_text()), properties)

    with server(options.port, options.host, answer) as http:
        http.serve_forever()
