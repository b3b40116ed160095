"""The dashboards and alert rules of docs/grafana with a real Prometheus and real queries: `make extra NAME=metrics`.

Not a name that pytest looks for, because `make test` would have to fetch Prometheus.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from dynamic_kafka import DynamicKafka
from dynamic_kafka_testkit import Cluster
from pyspark.sql import SparkSession

from tests.harness.jars import connector_jars
from tests.harness.waiting import until
from tests.metrics.prometheus import Prometheus, prometheus
from tests.page.world import NAME, World

GRAFANA = Path(__file__).resolve().parents[2] / "docs" / "grafana"
RULES = sorted(GRAFANA.glob("*-alerts.yaml"))
QUERY = NAME.replace("-", "_")


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A driver with the servlet, set as docs/operations.md says."""
    builder = SparkSession.builder.master("local[8]").appName("orders-app").config("spark.ui.port", 0)
    builder = builder.config("spark.driver.host", "localhost").config("spark.sql.shuffle.partitions", "1")
    servlet = "spark.metrics.conf.*.sink.prometheusServlet"
    builder = builder.config(f"{servlet}.class", "org.apache.spark.metrics.sink.PrometheusServlet")
    builder = builder.config(f"{servlet}.path", "/metrics/prometheus")
    builder = builder.config("spark.metrics.namespace", "orders-app")
    session = DynamicKafka.configure(builder, jars=connector_jars()).getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def server(
    spark: SparkSession, brokers: dict[str, Cluster], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """A server that reads the metrics of a query in batches and of one in real-time mode, while records arrive."""
    batches, real_time = (World(tmp_path_factory.mktemp(name), brokers) for name in ("batches", "real-time"))
    for world in (batches, real_time):
        world.define(blue="active", green="active")
        # Topics with records: the state of a cluster without any is known, its times are not.
        world.produce("blue", 20)
        world.produce("green", 20)
    address = spark.sparkContext.uiWebUrl
    assert address is not None
    target = f"localhost:{address.rsplit(':', 1)[1]}"
    with (
        batches.producing(blue=20, green=20),
        real_time.producing(blue=20, green=20),
        prometheus(tmp_path_factory.mktemp("prometheus"), target, RULES) as server,
    ):
        queries = [batches.start(spark), real_time.start_in_real_time(spark, "real-time")]
        yield server
        for query in queries:
            query.stop()


def expressions(dashboard: str) -> dict[str, str]:
    """The expressions of a dashboard, by title and legend."""
    panels = json.loads((GRAFANA / dashboard).read_text())["panels"]
    targets = ((panel["title"], target) for panel in panels for target in panel.get("targets", []))
    return {f"{title}: {target['legendFormat']}": target["expr"] for title, target in targets}


DASHBOARDS = {
    f"{name} {panel}": text
    for name in ("dynamic-kafka.json", "dynamic-kafka-sink.json")
    for panel, text in expressions(name).items()
}


@pytest.mark.parametrize("panel", DASHBOARDS)
def test_a_panel_has_values(server: Prometheus, panel: str) -> None:
    text = DASHBOARDS[panel]
    query = "real_time" if "latencyMs" in text else QUERY
    found = until(f"values of {panel}", lambda: server.query(text.replace("${query}", query)))
    source = "" if "_sink_" in text else "_0"
    clusters = ["blue", "green"] if "_cluster_" in text else [None]
    if panel.startswith("dynamic-kafka-sink") and "_cluster_" in text:
        clusters = ["green"]
    assert {(each["application"], each["query"]) for each in found} == {("orders_app", query + source)}
    assert sorted((each.get("cluster") for each in found), key=str) == clusters
    # The default of the variable: all queries.
    assert len(server.query(text.replace("${query}", ".*"))) >= len(found)


def rules() -> list[dict[str, Any]]:
    """All alert rules."""
    read = [yaml.safe_load(file.read_text()) for file in RULES]
    return [rule for each in read for group in each["groups"] for rule in group["rules"]]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_a_rule_asks_for_gauges_of_each_query(server: Prometheus, rule: dict[str, Any]) -> None:
    patterns = re.findall(r'__name__=~"([^"]+)"', rule["expr"])

    def missing() -> list[tuple[str, str]]:
        names = server.get("label/__name__/values")
        return [
            (pattern, query)
            for pattern in patterns
            for query in (QUERY, "real_time")
            if not any(re.fullmatch(pattern, name) and f"_{query}_" in name for name in names)
        ]

    until(f"gauges of each query for {patterns}", lambda: not missing())
