"""`doctor` names each fault of a cluster, with real brokers; the faults are in one file, and each has a cluster id."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.harness.command import command

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit

PASSWORD, WRONG = "pw-doctor-4711", "pw-wrong-4712"
CHECKS = [
    *("dns", "tcp", "tls", "login", "versions", "topics", "groups"),
    *("transactional_ids", "cluster_id", "transaction_timeout", "advertised"),
]


@pytest.fixture(scope="module")
def clusters(testkit: Testkit) -> Iterator[dict[str, Cluster]]:
    from dynamic_kafka_testkit import MutualTls, Scram

    wanted: dict[str, Scram | MutualTls | None] = {
        "plain": None,
        "guarded": Scram({"reader": PASSWORD, "poor": PASSWORD}, acls=True),
        "certified": MutualTls(),
    }
    with ThreadPoolExecutor() as threads:
        starting = {name: threads.submit(testkit.start, name, security=s) for name, s in wanted.items()}
        found = {name: start.result() for name, start in starting.items()}
    for cluster in found.values():
        cluster.create_topic("orders", partitions=2)
    found["guarded"].add_acl("reader", "orders", "READ")
    found["guarded"].add_acl("poor", "orders", "DESCRIBE")
    yield found
    for cluster in found.values():
        cluster.stop()


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that is bound, so that no other process gets it, and that accepts no connection."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


def doctor(
    folder: Path, clusters: Mapping[str, Mapping[str, str]], *options: str, topics: Mapping[str, str] | None = None
) -> dict[str, dict[str, dict[str, Any]]]:
    """The checks by cluster and name."""
    document = {
        "version": 1,
        "clusters": {id: {"properties": properties} for id, properties in clusters.items()},
        "streams": {
            "orders": {"clusters": {id: {"topics": [(topics or {}).get(id, "orders")]} for id in clusters}}
        },
    }
    file = folder / "streams.json"
    file.write_text(json.dumps(document))
    # A log-in takes longer than the default of ten seconds where many tests share two cores.
    done = command("doctor", file, "--timeout", "30", *options, "--json")
    assert done.stderr == ""
    assert PASSWORD not in done.stdout and WRONG not in done.stdout
    answer = done.json
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for check in answer["checks"]:
        found.setdefault(check["cluster"], {})[check["check"]] = check
    assert all(list(checks) == CHECKS for checks in found.values())
    failed = any(check["status"] == "failed" for checks in found.values() for check in checks.values())
    assert (answer["file"], answer["ok"], done.exit_code) == (str(file), not failed, int(failed))
    return found


def failures(checks: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [name for name, check in checks.items() if check["status"] == "failed"]


@pytest.mark.test_all
def test_clusters_without_a_fault(tmp_path: Path, clusters: dict[str, Cluster]) -> None:
    found = doctor(
        tmp_path,
        {
            "plain": {"bootstrap.servers": clusters["plain"].bootstrap_servers},
            "guarded": clusters["guarded"].scram_client("reader", PASSWORD),
            "certified": clusters["certified"].tls_client(),
        },
    )
    assert list(found) == ["plain", "guarded", "certified"]
    for id, checks in found.items():
        assert failures(checks) == [], checks
        assert checks["transactional_ids"]["status"] == "skipped"
        assert checks["topics"]["status"] == checks["advertised"]["status"] == "ok", checks
        assert checks["cluster_id"]["status"] == "ok", id
    assert found["plain"]["versions"]["status"] == found["guarded"]["versions"]["status"] == "ok"
    assert found["plain"]["transaction_timeout"]["message"] == "the brokers allow 900000 ms"
    # No right to DescribeConfigs, which only the sink needs.
    assert found["guarded"]["transaction_timeout"]["status"] == "warning"


@pytest.mark.test_all
def test_each_fault(tmp_path: Path, clusters: dict[str, Cluster], closed_port: int) -> None:
    plain, guarded = clusters["plain"].bootstrap_servers, clusters["guarded"]
    scram = guarded.scram_client("reader", PASSWORD)
    found = doctor(
        tmp_path,
        {
            "unknown-host": {"bootstrap.servers": "nowhere.invalid:9092"},
            "one-unknown-host": {"bootstrap.servers": f"nowhere.invalid:9092,{plain}"},
            "closed": {"bootstrap.servers": f"127.0.0.1:{closed_port}"},
            "no-tls": {"bootstrap.servers": plain, "security.protocol": "SSL"},
            "tls": {"bootstrap.servers": guarded.bootstrap_servers},
            "not-trusted": {
                "bootstrap.servers": guarded.bootstrap_servers,
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-256",
                "sasl.jaas.config": scram["sasl.jaas.config"],
            },
            "wrong-password": guarded.scram_client("reader", WRONG),
            "no-topic": {"bootstrap.servers": plain},
            "no-right": guarded.scram_client("poor", PASSWORD),
            "no-group": {**scram, "group.id": "reports"},
            "reference": {"bootstrap.servers": plain, "security.protocol": "${file:/nowhere:x}"},
        },
        topics={"no-topic": "oders"},
    )
    expected = {
        "unknown-host": ("dns", "no address for nowhere.invalid", "bootstrap.servers"),
        "closed": ("tcp", f"127.0.0.1:{closed_port} (connection refused)", "start the broker"),
        "no-tls": ("tls", "no TLS handshake", "security.protocol"),
        "tls": ("login", "the port has TLS", "security.protocol"),
        "not-trusted": ("tls", "the broker's certificate is not accepted", "ssl.truststore"),
        "wrong-password": ("login", "the credentials are refused", "password"),
        "no-topic": ("topics", "topic oders does not exist", "create the topic"),
        "no-right": ("topics", "topic orders: no right to Read", "grant"),
        "no-group": ("groups", "group reports: no right", "grant Read"),
        "reference": ("dns", "reference of 'security.protocol' cannot be resolved", "properties"),
    }
    for id, (check, says, remedy) in expected.items():
        assert failures(found[id]) == [check], found[id]
        assert says in found[id][check]["message"], found[id][check]
        assert remedy in found[id][check]["remedy"], found[id][check]
        behind = CHECKS[CHECKS.index(check) + 1 :] if check in CHECKS[:4] else []
        assert all(found[id][name]["status"] == "skipped" for name in behind)
    assert failures(found["one-unknown-host"]) == []
    assert found["one-unknown-host"]["dns"]["status"] == "warning"
    # Several ids of one Kafka cluster.
    assert found["no-topic"]["cluster_id"]["status"] == "warning"


@pytest.mark.test_all
def test_a_checkpoint_of_another_kafka_cluster(tmp_path: Path, clusters: dict[str, Cluster]) -> None:
    plain = {"plain": {"bootstrap.servers": clusters["plain"].bootstrap_servers}}
    own = doctor(tmp_path, plain)["plain"]["cluster_id"]["message"]
    for known, status in ((own, "ok"), ("another", "failed")):
        offset = {
            "version": 2,
            "clusters": {"plain": {"orders": {"0": 1}}},
            "identities": {"plain": {"cluster": known}},
        }
        (tmp_path / "checkpoint" / "offsets").mkdir(parents=True, exist_ok=True)
        (tmp_path / "checkpoint" / "offsets" / "0").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
        check = doctor(tmp_path, plain, "--checkpoint", str(tmp_path / "checkpoint"))["plain"]["cluster_id"]
        assert (check["status"], own in check["message"], known in check["message"]) == (status, True, True)


@pytest.mark.test_all
def test_a_write_that_is_aborted(tmp_path: Path, clusters: dict[str, Cluster]) -> None:
    found = doctor(
        tmp_path,
        {
            "plain": {"bootstrap.servers": clusters["plain"].bootstrap_servers},
            "guarded": clusters["guarded"].scram_client("reader", PASSWORD),
        },
        "--write-test",
        "orders",
    )
    assert found["plain"]["transactional_ids"]["status"] == "ok"
    assert clusters["plain"].dump("orders", committed_only=True) == []
    assert failures(found["guarded"]) == ["transactional_ids"]
    assert "transactional ids" in found["guarded"]["transactional_ids"]["remedy"]


@pytest.mark.test_all
def test_an_advertised_address_that_is_unreachable(
    tmp_path: Path, clusters: dict[str, Cluster], closed_port: int
) -> None:
    host, port = clusters["plain"].bootstrap_servers.rsplit(":", 1)
    with _Readdressed((host, int(port)), closed_port) as proxy:
        found = doctor(tmp_path, {"behind": {"bootstrap.servers": f"127.0.0.1:{proxy.port}"}})["behind"]
    assert found["login"]["status"] == "ok"
    assert found["advertised"]["status"] == "failed"
    assert f"127.0.0.1:{closed_port} (connection refused)" in found["advertised"]["message"]
    assert "advertised.listeners" in found["advertised"]["remedy"]


class _Readdressed:
    """Passes the requests of clients on to a broker, whose responses advertise another port."""

    def __init__(self, broker: tuple[str, int], advertised: int) -> None:
        self._broker = broker
        self._old, self._new = (broker[0].encode() + struct.pack(">i", port) for port in (broker[1], advertised))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])

    def __enter__(self) -> _Readdressed:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            broker = socket.create_connection(self._broker)
            for source, target in ((client, broker), (broker, client)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while part := source.recv(1 << 16):
                target.sendall(part.replace(self._old, self._new))
        except OSError:
            pass
        finally:
            target.close()
