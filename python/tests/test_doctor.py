"""``doctor`` without brokers; tests/e2e has each fault with brokers."""

from __future__ import annotations

import builtins
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.doctor import network
from dynamic_kafka._tools.doctor.check import NAMES
from dynamic_kafka._tools.doctor.check import Result as Found
from dynamic_kafka._tools.doctor.check import run as run_checks
from dynamic_kafka._tools.doctor.examine import clusters_of
from dynamic_kafka._tools.doctor.known import Known, known_of
from dynamic_kafka._tools.metadata_file.document import read

FILE = """version: 1
clusters:
  blue: {properties: {bootstrap.servers: "nowhere.invalid:9092", sasl.jaas.config: "hunter2"}}
  green: {properties: {bootstrap.servers: "127.0.0.1:1", security.protocol: "${env:DYNAMIC_KAFKA_NOWHERE}"}}
  red: {properties: {bootstrap.servers: "hunter2"}}
  old: {properties: {bootstrap.servers: "old:1"}}
streams:
  orders:
    clusters:
      blue: {topics: [orders], write: false}
      green: {topic_pattern: "orders-.*", state: draining}
      old: {topics: [orders], state: removed}
  payments: {clusters: {blue: {partitions: {payments: [0]}}, red: {topics: [payments]}}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("streams.yaml").write_text(FILE)
    return "streams.yaml"


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that accepts connections and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield int(listening.getsockname()[1])


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["doctor", *arguments])
    assert "hunter2" not in result.output + result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_clusters_that_cannot_be_asked(file: str) -> None:
    result = run(file, "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert (answer["file"], answer["ok"]) == ("streams.yaml", False)
    # A removed cluster is not contacted.
    assert [(c["cluster"], c["check"]) for c in answer["checks"]] == [
        (cluster, name) for cluster in ("blue", "green", "red") for name in NAMES
    ]
    first = {check["cluster"]: check for check in reversed(answer["checks"])}
    assert first["blue"] == {
        "cluster": "blue",
        "check": "dns",
        "status": "failed",
        "message": "no address for nowhere.invalid",
        "remedy": "correct bootstrap.servers, or the name server of this machine",
    }
    assert "the reference of 'security.protocol' cannot be resolved" in first["green"]["message"]
    assert first["red"]["message"] == "bootstrap.servers is not host:port"
    assert {c["status"] for c in answer["checks"] if c["check"] != "dns"} == {"skipped"}


def test_one_line_for_each_check(file: str) -> None:
    lines = run(file).stdout.splitlines()
    assert len(lines) == 1 + 3 * len(NAMES)
    assert lines[0].split() == ["cluster", "check", "status", "message"]
    assert lines[1] == (
        "blue     dns                  failed   no address for nowhere.invalid. "
        "Remedy: correct bootstrap.servers, or the name server of this machine"
    )
    assert lines[2] == "blue     tcp                  skipped  behind 'dns'"


def test_a_port_that_answers_nothing(silent: int) -> None:
    servers = [("127.0.0.1", silent)]
    assert network.tcp(servers, 10).status == "ok"
    found = network.tls(servers, {"security.protocol": "SSL"}, 0.2)
    assert (found.status, found.message) == ("failed", "no TLS handshake: the connection is closed or silent")
    assert network.versions(servers, {}, 0.2).status == "warning"
    assert not network.speaks_tls(servers, 0.2)


def test_what_is_checked_goes_on_behind_a_missing_topic() -> None:
    results = dict.fromkeys(NAMES, Found("ok", ""))
    results["topics"] = Found("failed", "no topic", "create it")
    found = list(run_checks("blue", {name: lambda r=result: r for name, result in results.items()}))  # type: ignore[misc]
    assert [check.check for check in found if check.status != "ok"] == ["topics"]


def test_the_clusters_of_a_migrated_checkpoint(file: str) -> None:
    offset = {
        "version": 2,
        "clusters": {"bleu": {"orders": {"0": 1}}, "red": {"refunds": {"0": 1}, "payments": {}}},
    }
    Path("moved/offsets").mkdir(parents=True)
    Path("moved/offsets/0").write_text(f"v1\n{{}}\n{json.dumps(offset)}\n")
    result = run(file, "--checkpoint", "moved", "--json")
    assert result.exit_code == 1
    lacking = [check for check in json.loads(result.stdout)["checks"] if check["cluster"] == "bleu"]
    assert [(check["check"], check["status"]) for check in lacking] == [
        (name, "failed" if name == "cluster_id" else "skipped") for name in NAMES
    ]
    assert "MIGRATION_MISMATCH. Did you mean 'blue'?" in result.stdout
    known, _ = known_of(Path("moved"), read(FILE).streams)
    assert known["red"].topics(Found("ok", "2 topics")) == Found(
        "failed",
        "no stream has refunds of the migrated checkpoint: MIGRATION_MISMATCH",
        "add the topic to a stream of the query",
    )
    unknown = known["red"].cluster_id("K1")
    assert unknown.status == "warning"
    assert unknown.message.startswith("K1; whether the query has read it is not known")


def test_a_cluster_that_was_replaced() -> None:
    assert Known("K1").cluster_id("K1") == Found("ok", "K1, as in the checkpoint")
    assert Known("K1").cluster_id("K2").status == "failed"
    covered = Known("K1", policy="mirror-maker").cluster_id("K2")
    assert (covered.status, covered.message) == (
        "warning",
        "K2, but the checkpoint has read K1: replacedClusterPolicy=mirror-maker decides where the query continues",
    )


def test_addresses() -> None:
    assert network.addresses(" a:1 ,PLAINTEXT://b:2,[::1]:3,") == [("a", 1), ("b", 2), ("::1", 3)]
    for bad in ("a", "a:", ":1", "a:x"):
        with pytest.raises(ValueError, match=bad):
            network.addresses(f"a:1,{bad}")


def test_what_streams_say() -> None:
    blue, green, red = clusters_of(read(FILE).streams)
    assert (blue.topics, blue.patterns) == ({"orders": False, "payments": True}, {})
    assert (green.topics, green.patterns) == ({}, {"orders-.*": True})
    assert red.topics == {"payments": True}


def test_refused(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("empty").mkdir()
    result = run(file, "--checkpoint", "empty")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "is not a checkpoint of a streaming query" in result.stderr
    Path("empty/offsets").mkdir()
    Path("empty/offsets/0").write_text('v1\n{}\n{"orders":{"0":5}}')
    assert "from which 'migrate' moves it" in run(file, "--checkpoint", "empty").stderr
    assert run(file, "--timeout", "0").exit_code == 2
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = run(file)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'dynamic-kafka[cli]'" in result.stderr
    Path(file).write_text("version: 2")
    assert run(file).exit_code == 1
