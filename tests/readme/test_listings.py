"""The programs that serve listings of providers, against answers as the providers document them."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import documents as docs
import pytest

sys.path.insert(0, str(docs.ROOT / "examples" / "listings"))

import confluent_cloud
import listing
import msk

RULES = {
    "orders": {"topics": ["orders"], "clusters": "prod-.*", "states": {"prod-old": "draining"}},
    "payments": {"topics": ["payments-eu", "payments-us"], "clusters": "prod-new"},
}


class Msk:
    """The two calls of `boto3.client("kafka")`, with two pages."""

    def __init__(self, **states: str) -> None:
        self._states = {"prod-old": "ACTIVE", "prod-new": "UPDATING", "test": "CREATING", **states}
        self.asked: list[str] = []

    def list_clusters_v2(self, NextToken: str | None = None) -> dict[str, Any]:
        names = sorted(self._states)
        page, more = (names[:2], {"NextToken": "second"}) if NextToken is None else (names[2:], {})
        assert NextToken in (None, "second")
        arn = "arn:aws:kafka:eu-central-1:1:cluster/"
        infos = [
            {"ClusterArn": arn + n, "ClusterName": n, "ClusterType": "PROVISIONED", "State": self._states[n]}
            for n in page
        ]
        return {"ClusterInfoList": infos, **more}

    def get_bootstrap_brokers(self, ClusterArn: str) -> dict[str, str]:
        name = ClusterArn.rpartition("/")[2]
        self.asked.append(name)
        return {
            "BootstrapBrokerStringTls": f"b-1.{name}:9094",
            "BootstrapBrokerStringSaslIam": f"b-1.{name}:9098,b-2.{name}:9098",
        }


@contextmanager
def _serving(server: ThreadingHTTPServer) -> Iterator[str]:
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@contextmanager
def _service(listed: Callable[[], Iterator[listing.Listed]], rules: dict[str, Any] | None = None) -> Iterator[str]:
    properties = {"security.protocol": "SASL_SSL"}
    with _serving(
        listing.server(0, "127.0.0.1", lambda: listing.document(listed(), rules or RULES, properties))
    ) as url:
        yield url


def _valid(url: str, folder: Path) -> Any:
    with urlopen(url) as response:
        text = response.read().decode()
    file = folder / "streams.json"
    file.write_text(text)
    command = [sys.executable, "-m", "dynamic_kafka", "validate", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(text)


def _refused(url: str) -> str:
    with pytest.raises(HTTPError) as refused:
        urlopen(url)
    assert refused.value.code == 503
    return str(refused.value.read().decode())


def test_msk(tmp_path: Path) -> None:
    client = Msk()
    with _service(lambda: msk.clusters(client, "SaslIam")) as url:
        found = _valid(url, tmp_path)
    assert found["clusters"]["prod-old"]["properties"] == {
        "security.protocol": "SASL_SSL",
        "bootstrap.servers": "b-1.prod-old:9098,b-2.prod-old:9098",
    }
    assert found["streams"] == {
        "orders": {
            "clusters": {
                "prod-new": {"topics": ["orders"], "state": "active"},
                "prod-old": {"topics": ["orders"], "state": "draining"},
            }
        },
        "payments": {"clusters": {"prod-new": {"topics": ["payments-eu", "payments-us"], "state": "active"}}},
    }
    # A cluster that is not ready, and that no stream selects, is of no concern.
    assert client.asked == ["prod-new", "prod-old"]


def test_what_is_not_known_is_not_served() -> None:
    with _service(lambda: msk.clusters(Msk(**{"prod-old": "CREATING"}), "SaslIam")) as url:
        assert "cluster 'prod-old' has no address: state CREATING" in _refused(url)
    with _service(lambda: msk.clusters(Msk(), "SaslScram")) as url:
        assert "no BootstrapBrokerStringSaslScram" in _refused(url)
    rules = {"orders": {"topics": ["orders"], "clusters": "prod"}}
    with _service(lambda: msk.clusters(Msk(), "Tls"), rules) as url:
        assert "stream 'orders': no cluster has a name that matches 'prod'" in _refused(url)


@contextmanager
def _confluent(second: str | None = None) -> Iterator[str]:
    """`GET /cmk/v2/clusters` with a cluster on each page. The second page is at `second`."""

    def cluster(number: int, name: str) -> dict[str, Any]:
        spec = {"display_name": name, "kafka_bootstrap_endpoint": f"SASL_SSL://lkc-{number}.example.com:9092"}
        return {"kind": "Cluster", "id": f"lkc-{number}", "spec": spec, "status": {"phase": "PROVISIONED"}}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = parse_qs(url.query)
            login = base64.b64encode(b"key:secret").decode()
            if self.headers["Authorization"] != f"Basic {login}":
                return self.send_error(401)
            assert (url.path, query["environment"]) == ("/cmk/v2/clusters", ["env-1"])
            here = f"http://{self.headers['Host']}"
            if "page_token" in query:
                page: dict[str, Any] = {"metadata": {}, "data": [cluster(2, "prod-new")]}
            else:
                following = f"{second or here}/cmk/v2/clusters?environment=env-1&page_token=x"
                page = {"metadata": {"next": following}, "data": [cluster(1, "prod-old")]}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"api_version": "cmk/v2", "kind": "ClusterList", **page}).encode())
            return None

    with _serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def test_confluent_cloud(tmp_path: Path) -> None:
    get = confluent_cloud.getter("key", "secret")
    with _confluent() as api, _service(lambda: confluent_cloud.clusters("env-1", get, api)) as url:
        found = _valid(url, tmp_path)
    assert found["clusters"]["lkc-1"]["properties"]["bootstrap.servers"] == "lkc-1.example.com:9092"
    assert found["streams"]["orders"]["clusters"]["lkc-1"]["state"] == "draining"
    assert set(found["streams"]["payments"]["clusters"]) == {"lkc-2"}


def test_a_refused_key_and_another_address() -> None:
    wrong = confluent_cloud.getter("key", "wrong")
    with _confluent() as api, _service(lambda: confluent_cloud.clusters("env-1", wrong, api)) as url:
        assert "401" in _refused(url)
    get = confluent_cloud.getter("key", "secret")
    with (
        _confluent("http://127.0.0.1:1") as api,
        _service(lambda: confluent_cloud.clusters("env-1", get, api)) as url,
    ):
        assert "does not get the key" in _refused(url)


def test_the_programs_say_how_they_are_used() -> None:
    for program in (msk, confluent_cloud):
        assert program.__file__
        done = subprocess.run(
            [sys.executable, program.__file__, "--help"], capture_output=True, text=True, check=True
        )
        assert "--port" in done.stdout
