"""``lag``, ``--metadata`` and ``--watch``."""

from __future__ import annotations

import builtins
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import kafka
from dynamic_kafka._tools.checkpoint.ends import Ends, Partition
from dynamic_kafka._tools.cli import watching
from dynamic_kafka._tools.cli.app import app

JAAS = 'x.ScramLoginModule required username="reader" password="hunter2";'
METADATA = f"""version: 1
clusters:
  green: {{properties: {{bootstrap.servers: "green:9092"}}}}
  red:
    properties: {{bootstrap.servers: "new-red:9093", security.protocol: SASL_SSL, sasl.jaas.config: '{JAAS}'}}
streams:
  orders: {{clusters: {{red: {{topics: [golden-old]}}, green: {{topics: [golden-orders]}}}}}}
"""


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """The golden checkpoint and a metadata file in the working folder; with what properties brokers are asked."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(REPOSITORY / "jvm/connector/src/test/resources/checkpoints/0.1.0", "checkpoint")
    for file in Path("checkpoint").rglob("topology/*.json"):
        file.write_text(file.read_text().replace("@", ""))
    Path("streams.yaml").write_text(METADATA)
    properties: list[Mapping[str, str]] = []

    def end_offsets(given: Mapping[str, str], partitions: list[Partition], timeout_s: float) -> Ends:
        properties.append(given)
        if given["bootstrap.servers"] == "red":
            return Ends(missing="red: no answer")
        return Ends({(topic, partition): 4 + partition for topic, partition in partitions})

    monkeypatch.setattr(kafka, "end_offsets", end_offsets)
    return properties


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments])
    assert "hunter2" not in result.output + result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_lag_with_credentials_of_the_metadata(asked: list[Mapping[str, str]]) -> None:
    result = run("lag", "checkpoint", "--metadata", "streams.yaml")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "batch 1 of 2026-11-21 07:37:14 UTC, logged, not finished: it will be read again",
        "",
        "source 0",
        "",
        "cluster  topic          partitions  lag",
        "blue     golden-orders           2    1",
        "red      golden-old              2    7",
        "",
        "lag: 8",
    ]
    # The retained cluster green is not asked.
    assert sorted(given["bootstrap.servers"] for given in asked) == ["blue", "new-red:9093"]
    assert [given.get("sasl.jaas.config") for given in asked if "red" in given["bootstrap.servers"]] == [JAAS]


def test_lag_that_is_not_known(asked: list[Mapping[str, str]]) -> None:
    result = run("lag", "checkpoint", "--json")
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert (answer["batch"], answer["finished"], answer["timestamp_ms"]) == (1, False, 1795246634419)
    assert answer["sources"] == [
        {
            "source": 0,
            "lag": None,
            "topics": [
                {"cluster": "blue", "topic": "golden-orders", "partitions": 2, "lag": 1},
                {"cluster": "red", "topic": "golden-old", "partitions": 2, "lag": None},
            ],
            "lag_unknown": {"red": "red: no answer"},
        }
    ]
    assert run("lag", "checkpoint").stdout.splitlines()[-2:] == [
        "lag: 1 (where known)",
        "lag of cluster red is not known: red: no answer",
    ]


def test_offsets_with_metadata(asked: list[Mapping[str, str]]) -> None:
    (source,) = json.loads(run("offsets", "checkpoint", "--metadata", "streams.yaml", "--json").stdout)["sources"]
    assert source["lag_unknown"] == {}
    assert {given["bootstrap.servers"] for given in asked} == {"blue", "green:9092", "new-red:9093"}


@pytest.mark.parametrize("command", ["lag", "offsets"])
def test_watch(asked: list[Mapping[str, str]], command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter(("damage", "repair"))

    def wait() -> None:
        log = Path("checkpoint/offsets/1")
        match next(rounds, None):
            case "damage":
                log.rename("kept")
                log.write_text("v1\n")
            case "repair":
                Path("kept").rename(log)
            case _:
                raise KeyboardInterrupt

    monkeypatch.setattr(watching, "wait", wait)
    monkeypatch.setenv("COLUMNS", "200")
    result = run(command, "checkpoint", "--watch")
    assert result.exit_code == 0
    assert result.stdout.rstrip() == run(command, "checkpoint").stdout.rstrip()
    assert len(asked) > 6


def test_watch_and_json(asked: list[Mapping[str, str]]) -> None:
    assert run("lag", "checkpoint", "--watch", "--json").exit_code == 2
    assert asked == []


def test_watch_without_its_library(asked: list[Mapping[str, str]], monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = run("lag", "checkpoint", "--watch")
    assert (result.exit_code, result.stderr) == (1, "--watch needs rich: pip install 'dynamic-kafka[cli]'\n")


@pytest.mark.parametrize("command", ["lag", "offsets"])
def test_refused(asked: list[Mapping[str, str]], command: str) -> None:
    Path("streams.yaml").write_text("version: 2")
    assert run(command, "checkpoint", "--metadata", "streams.yaml").exit_code == 1
    Path("empty").mkdir()
    result = run(command, "empty", "--watch")
    assert result.exit_code == 1
    assert "is not a checkpoint of a streaming query" in result.stderr
