"""No secret of secured clusters is printed or stored: by running queries, during rotation, and by refused queries."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.harness.driver_pool import DriverPool
from tests.harness.metadata import MetadataFile
from tests.harness.scene import Scene
from tests.harness.waiting import until

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit

FIRST, SECOND, WRONG = "pw-first-4711", "pw-second-4712", "pw-wrong-4713"


@pytest.fixture(scope="module")
def secure(testkit: Testkit) -> Iterator[dict[str, Cluster]]:
    from dynamic_kafka_testkit import MutualTls, Scram

    wanted: dict[str, Scram | MutualTls] = {
        "guarded": Scram({"reader": FIRST}, acls=True),
        "certified": MutualTls(),
    }
    with ThreadPoolExecutor() as threads:
        starting = {name: threads.submit(testkit.start, name, security=s) for name, s in wanted.items()}
        clusters = {name: start.result() for name, start in starting.items()}
    yield clusters
    for cluster in clusters.values():
        cluster.stop()


@pytest.mark.test_all
def test_no_secret_of_secure_clusters(tmp_path: Path, secure: dict[str, Cluster], drivers: DriverPool) -> None:
    guarded, certified = secure["guarded"], secure["certified"]
    scene = Scene(tmp_path, secure, drivers)
    topic = scene.topic(*secure)
    guarded.add_acl("reader", topic, "READ")
    client = certified.tls_client()
    references = tmp_path / "secrets.properties"
    references.write_text(f"truststore={client['ssl.truststore.password']}\n")
    by_option = {**client, "ssl.truststore.password": f"${{file:{references}:truststore}}"}
    options = {f"cluster.certified.kafka.{name}": value for name, value in by_option.items()}

    metadata = scene.metadata("orders", *secure, topic=topic)
    _given(metadata, "guarded", guarded.scram_client("reader", FIRST))
    query = scene.query(metadata, "reads", **{"kafka.group.id": "secretive"}, **options)
    driver = drivers.doomed()
    _produce(scene, topic)
    query.start(driver)
    scene.await_exact(query, *((name, topic) for name in secure))
    texts = {"plans": query.explain()}

    guarded.alter_password("reader", SECOND)
    _given(metadata, "guarded", guarded.scram_client("reader", SECOND))
    until("the new password", lambda: "Topology 2 of" in driver.log())
    _produce(scene, topic)
    scene.await_exact(query, *((name, topic) for name in secure))
    query.stop()

    def refused(name: str, cluster: str, properties: dict[str, str], of: str = topic) -> str:
        wrong = scene.metadata(name, cluster, topic=of)
        _given(wrong, cluster, properties)
        bad = scene.query(wrong, name)
        bad.begin(driver)
        text = bad.failure()
        return text + bad.checkpoint.text()

    forbidden, seen = scene.topic("guarded"), scene.topic("guarded")
    guarded.add_acl("reader", seen, "DESCRIBE")
    scene.produce("guarded", seen, 2)
    reader = guarded.scram_client("reader", SECOND)
    expected = {
        "wrong-password": "CLUSTER_AUTHENTICATION_FAILED",
        "expired": "CLUSTER_AUTHENTICATION_FAILED",
        "locked-store": "CLUSTER_AUTHENTICATION_FAILED",
        "odd-jaas": "METADATA_UNAVAILABLE",
        "no-acl": "CLUSTER_AUTHORIZATION_FAILED",
        "no-read": "CLUSTER_AUTHORIZATION_FAILED",
    }
    odd = {**reader, "sasl.jaas.config": reader["sasl.jaas.config"].rstrip(";")}
    texts |= {
        "wrong-password": refused("wrong-password", "guarded", guarded.scram_client("reader", WRONG)),
        "expired": refused("expired", "certified", certified.tls_client(expired=True)),
        "locked-store": refused("locked-store", "certified", {**client, "ssl.keystore.password": WRONG}),
        "odd-jaas": refused("odd-jaas", "guarded", odd),
        "no-acl": refused("no-acl", "guarded", reader, forbidden),
        "no-read": refused("no-read", "guarded", reader, seen),
    }
    for name, condition in expected.items():
        assert f"DYNAMIC_KAFKA.{condition}" in texts[name], texts[name]

    texts["checkpoint"] = query.checkpoint.text()
    texts["progress and events"] = str(driver.events())
    texts["log"] = driver.log()
    texts["event log"] = driver.event_log()
    # The places where secrets could be are covered.
    assert "ConsumerConfig values" in texts["log"]
    assert "SparkListenerSQLExecutionStart" in texts["event log"]
    secrets = {FIRST, SECOND, WRONG}
    for properties in (client, reader):
        secrets |= {value for name, value in properties.items() if name.endswith("password")}
    for place, text in texts.items():
        assert text
        for secret in secrets:
            assert secret not in text, f"{secret} is in {place}: {_around(text, secret)}"
    driver.kill()


def _given(metadata: MetadataFile, cluster: str, properties: dict[str, str]) -> None:
    servers = properties["bootstrap.servers"]
    more = {name: value for name, value in properties.items() if name != "bootstrap.servers"}
    metadata.cluster(cluster, servers, **more).write()


def _produce(scene: Scene, topic: str) -> None:
    for name in scene.brokers:
        scene.produce(name, topic, 4)


def _around(text: str, secret: str) -> str:
    at = text.index(secret)
    return text[max(0, at - 200) : at + len(secret)]
