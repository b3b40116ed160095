"""As much of a Kubernetes API server as the metadata services use: get, list and watch of a few resources."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

_KINDS = {
    "configmaps": ("v1", "ConfigMap"),
    "kafkas": ("kafka.strimzi.io/v1", "Kafka"),
    "kafkatopics": ("kafka.strimzi.io/v1", "KafkaTopic"),
}


class ApiServer:
    """Serves what it has got last, and tells watchers about it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._version = 0
        self._resources: dict[str, list[dict[str, Any]]] = {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server._answer(self)

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Threads of watches end with their connections.
        self._http.block_on_close = False
        self.url = f"http://127.0.0.1:{self._http.server_port}/"

    def put(self, **resources: list[dict[str, Any]]) -> None:
        """Replace all resources of these kinds, by their plural names."""
        with self._changed:
            self._version += 1
            for plural, items in resources.items():
                version, kind = _KINDS[plural]
                self._resources[plural] = [{"apiVersion": version, "kind": kind, **item} for item in items]
            self._changed.notify_all()

    def __enter__(self) -> ApiServer:
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        url = urlsplit(request.path)
        _, _, rest = url.path.partition("/namespaces/")
        _, plural, *name = rest.split("/")
        if request.headers.get("Upgrade"):
            # The client then watches by HTTP instead of a WebSocket.
            request.send_error(503)
        elif "watch" in parse_qs(url.query):
            self._watch(request, plural)
        else:
            items = self._resources.get(plural, [])
            version, kind = _KINDS[plural]
            listed = {"apiVersion": version, "kind": f"{kind}List", "metadata": {}, "items": items}
            found = next((i for i in items if i["metadata"]["name"] == name[0]), None) if name else listed
            if found is None:
                request.send_error(404)
            else:
                _begin(request)
                request.wfile.write(json.dumps(found).encode())

    def _watch(self, request: BaseHTTPRequestHandler, plural: str) -> None:
        _begin(request)
        seen = 0
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._version > seen, timeout=60)  # noqa: B023
                    seen, items = self._version, self._resources.get(plural, [])
                for item in items:
                    request.wfile.write(json.dumps({"type": "MODIFIED", "object": item}).encode() + b"\n")
                request.wfile.flush()
        except OSError:
            # The client has closed the connection.
            return


def _begin(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.end_headers()
