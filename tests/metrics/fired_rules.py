"""A real Prometheus fires each alert rule of docs/grafana once, for gauges that get worse: `make extra NAME=metrics`.

Not a name that pytest looks for, because `make test` would have to fetch Prometheus.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.harness.waiting import until
from tests.metrics.prometheus import Prometheus, prometheus

RULES = sorted((Path(__file__).resolve().parents[2] / "docs" / "grafana").glob("*-alerts.yaml"))
# A time of the rules, and the same 60 times as fast.
_TIME = re.compile(r"(?<=[ \[])(\d+)([mhd])(?=[:\]),]|$)", re.MULTILINE)
_SECONDS = {"m": 1, "h": 60, "d": 1440}

Gauges = dict[str, int]
HEALTHY = {
    "0_total": {
        "metadataAgeMs": 100,
        "metadataFailures": 0,
        "unreachableClusters": 0,
        "lostRecords": 0,
        "deferredRecords": 0,
        "decodeErrors": 0,
        "pendingRecords": 10,
        "drainingClusters": 0,
        "kafkaClustersCount": 2,
    },
    "0_cluster_blue": {
        "answerAgeMs": 100,
        "recordsRead": 0,
        "pendingRecords": 10,
        "eventTimeLagMs": 100,
        "eventTimeDriftMs": 0,
        "commitsFailed": 0,
    },
    "sink_total": {
        "metadataAgeMs": 100,
        "metadataFailures": 0,
        "kafkaClustersCount": 2,
        "leftOutClusters": 0,
        "pendingTransactions": 0,
        "transactionAgePercent": 10,
    },
}
# Each value after some seconds.
WORSE: dict[str, dict[str, Callable[[int], int]]] = {
    "0_total": {
        "metadataAgeMs": lambda _: 200_000,
        "metadataFailures": lambda _: 3,
        "unreachableClusters": lambda _: 1,
        "lostRecords": lambda _: 1,
        "deferredRecords": lambda _: 1,
        "decodeErrors": lambda s: s,
        "pendingRecords": lambda s: 100 * s,
        "drainingClusters": lambda _: 1,
        "kafkaClustersCount": lambda s: 3 + s // 5,
    },
    "0_cluster_blue": {
        "answerAgeMs": lambda _: 400_000,
        "pendingRecords": lambda _: 20_000_000,
        "eventTimeLagMs": lambda _: 400_000,
        "eventTimeDriftMs": lambda _: 70_000,
        "commitsFailed": lambda s: s,
    },
    "sink_total": {
        "metadataAgeMs": lambda _: 200_000,
        "metadataFailures": lambda _: 3,
        "kafkaClustersCount": lambda s: 3 + s // 5,
        "leftOutClusters": lambda _: 1,
        "pendingTransactions": lambda _: 1,
        "transactionAgePercent": lambda _: 50,
    },
}


class Drivers:
    """The servlet of a driver, whose gauges are made up. Each answer is a second later than the one before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.answers = 0
        self.worse_since: int | None = None

    def text(self) -> str:
        """The gauges of a query, and of one that stops when the other one gets worse."""
        with self._lock:
            self.answers += 1
            gauges = {part: dict(values) for part, values in HEALTHY.items()}
            gauges["0_cluster_blue"]["recordsRead"] = self.answers
            queries = ["orders"]
            if self.worse_since is None:
                queries.append("stopped")
            else:
                gauges["0_cluster_blue"]["recordsRead"] = self.worse_since
                for part, values in WORSE.items():
                    gauges[part] |= {name: at(self.answers - self.worse_since) for name, at in values.items()}
            return "".join(
                f'metrics_orders_app_driver_dynamicKafka_{query}_{part}_{name}_Number{{type="gauges"}} {value}\n'
                for query in queries
                for part, values in gauges.items()
                for name, value in values.items()
            )

    def get_worse(self) -> None:
        """From the next answer on."""
        with self._lock:
            self.worse_since = self.answers


@contextmanager
def served(drivers: Drivers) -> Iterator[str]:
    """The address of the servlet."""

    class Servlet(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # noqa: N802 the name of the base class
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            self.wfile.write(drivers.text().encode())

        def log_message(self, *_: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Servlet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def firing(server: Prometheus) -> dict[str, list[dict[str, Any]]]:
    """The alerts that fire, by the name of their rule."""
    found: dict[str, list[dict[str, Any]]] = {}
    for alert in server.get("alerts")["alerts"]:
        if alert["state"] == "firing":
            found.setdefault(alert["labels"]["alertname"], []).append(alert)
    return found


def test_each_rule_fires_once_things_are_bad(tmp_path: Path) -> None:
    rules = {
        rule["alert"]: rule
        for file in RULES
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    }
    faster = []
    for file in RULES:
        text, times = _TIME.subn(lambda time: f"{int(time[1]) * _SECONDS[time[2]]}s", file.read_text())
        assert times >= 2
        faster.append(tmp_path / file.name)
        faster[-1].write_text(text)
    drivers = Drivers()
    with served(drivers) as address, prometheus(tmp_path, address, faster) as server:
        # Longer than any time over which a rule looks back, but for the one about a query that has stopped.
        until("the rules have been evaluated in health", lambda: drivers.answers > 40)
        loaded = [rule for group in server.get("rules")["groups"] for rule in group["rules"]]
        assert {rule["name"]: (rule["health"], rule.get("lastError")) for rule in loaded} == dict.fromkeys(
            rules, ("ok", None)
        )
        assert firing(server) == {}
        drivers.get_worse()
        seen: dict[str, list[dict[str, Any]]] = {}

        def has_fired(rule: str) -> Callable[[], bool]:
            def look() -> bool:
                seen.update(firing(server))
                return rule in seen

            return look

        for rule in rules:
            until(f"{rule} has fired", has_fired(rule))
    for name, alerts in seen.items():
        (alert,) = alerts
        labels = alert["labels"]
        source = "sink" if "Sink" in name or "_sink_" in rules[name]["expr"] else "0"
        assert labels["application"] == "orders_app"
        query = "stopped" if name.endswith("Stopped") else "orders"
        assert labels["query"] in (query, f"{query}_{source}")
        assert labels["severity"] == rules[name]["labels"]["severity"]
        assert ("cluster" in labels) == ("_cluster_" in rules[name]["expr"])
        # The summary names what the alert is about.
        assert all(labels[of] in alert["annotations"]["summary"] for of in labels.keys() & {"query", "cluster"})
