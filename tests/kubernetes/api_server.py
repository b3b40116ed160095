"""An API server of Kubernetes with one ConfigMap, for a client that may read it but not watch it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


class ApiServer:
    """Answers requests until it is closed.

    Args:
        config_map: The ConfigMap as its manifest has it. A change of `data` is seen by the next request.
    """

    def __init__(self, config_map: dict[str, Any]) -> None:
        self.config_map = config_map
        self.requests: list[str] = []
        metadata = config_map["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/configmaps/{metadata['name']}"

        class Handler(BaseHTTPRequestHandler):
            def do_GET(handler: BaseHTTPRequestHandler) -> None:  # noqa: N802, N805
                self.requests.append(handler.path)
                if handler.path == path:
                    _answer(handler, 200, config_map)
                else:
                    _answer(
                        handler, 403, {"apiVersion": "v1", "kind": "Status", "code": 403, "reason": "Forbidden"}
                    )

            def log_message(handler, *_: Any) -> None:  # noqa: N805
                pass

        self._server = ThreadingHTTPServer(("localhost", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def kubeconfig(self, folder: Path) -> Path:
        """Write the file that `KUBECONFIG` names."""
        address = {"server": f"http://localhost:{self._server.server_port}"}
        file = folder / "kubeconfig"
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "clusters": [{"name": "test", "cluster": address}],
                    "users": [{"name": "test", "user": {}}],
                    "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                    "current-context": "test",
                }
            )
        )
        return file

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._server.server_close()


def _answer(handler: BaseHTTPRequestHandler, code: int, document: dict[str, Any]) -> None:
    body = json.dumps(document).encode()
    handler.send_response(code)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
