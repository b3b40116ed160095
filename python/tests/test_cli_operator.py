"""`transactions` and `resolve`, without the Java process, or with a program in its place."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.operator import connector, jars

SECRET = "hunter2"
STREAMS = f"""version: 1
clusters:
  blue: {{properties: {{bootstrap.servers: "blue:9092", ssl.key.password: {SECRET}}}}}
streams:
  out: {{clusters: {{blue: {{topics: [out]}}}}}}
"""
OPEN = {"cluster": "blue", "transactional_id": "dynamic-kafka-1", "state": "open"}
DECISIONS = {"decisions": [{"batch": 4, "generation": 2, "transactions": [OPEN]}]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streams.yaml").write_text(STREAMS)
    (tmp_path / "checkpoint").mkdir()
    monkeypatch.delenv(jars.VARIABLE, raising=False)
    monkeypatch.delenv("SPARK_HOME", raising=False)
    return tmp_path


@pytest.fixture
def asked(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of the connector's tool, which replies that a decision is open."""
    calls: list[list[str]] = []

    def ask(arguments: list[str], given_jars: str | None) -> connector.Reply:
        calls.append(arguments)
        result = DECISIONS if arguments[0] == "transactions" else DECISIONS["decisions"][0]
        return connector.Reply(int(arguments[0] == "transactions"), result)

    monkeypatch.setattr(connector, "ask", ask)
    return calls


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert SECRET not in result.output
    return result


TRANSACTIONS = ("transactions", "checkpoint", "--metadata", "streams.yaml")
RESOLVE = ("resolve", "checkpoint", "--metadata", "streams.yaml", "--batch", "4")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("transactions", "checkpoint"), "--metadata"),
        (("transactions", "nowhere", "--metadata", "streams.yaml"), "nowhere"),
        (("transactions", "checkpoint", "--metadata", "nowhere"), "nowhere"),
        (RESOLVE, "exactly one of"),
        ((*RESOLVE, "--rewrite", "--accept-loss"), "exactly one of"),
        ((*RESOLVE, "--rewrite", "--abandon-cluster", "blue"), "exactly one of"),
        ((*RESOLVE[:-2], "--rewrite"), "--batch"),
        ((*RESOLVE[:-1], "-1", "--rewrite"), "--batch"),
        ((*RESOLVE[:-1], "four", "--rewrite"), "--batch"),
    ],
)
def test_wrong_use(asked: list[list[str]], arguments: tuple[str, ...], what: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert what in result.stderr
    assert not result.stdout
    assert not asked


def test_the_json_of_transactions(asked: list[list[str]], here: Path) -> None:
    result = run(*TRANSACTIONS, "--json", "--timeout", "2.5")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == DECISIONS
    assert not result.stderr
    assert asked == [["transactions", str(here / "checkpoint"), str(here / "streams.yaml"), "2500"]]


@pytest.mark.parametrize("option", [("--accept-loss",), ("--rewrite",), ("--abandon-cluster", "blue")])
def test_each_resolution(asked: list[list[str]], option: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    result = run(*RESOLVE, *option, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["batch"] == 4
    assert asked[0][3:] == ["10000", "alice", "4", option[0].removeprefix("--"), *option[1:]]
    assert run(*RESOLVE, *option).stdout.startswith("batch 4 is ")


def test_a_checkpoint_that_is_not_on_this_machine(asked: list[list[str]]) -> None:
    run("transactions", "s3a://bucket/checkpoint", "--metadata", "streams.yaml")
    assert asked[0][1] == "s3a://bucket/checkpoint"


def test_metadata_that_is_not_valid(asked: list[list[str]], here: Path) -> None:
    (here / "streams.yaml").write_text("version: 1\nstreamz: {}")
    result = run(*TRANSACTIONS)
    assert result.exit_code == 1
    assert "streamz" in result.stderr
    assert not asked


def test_without_java(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    result = run(*TRANSACTIONS)
    assert result.exit_code == 1
    assert "Java was not found" in result.stderr
    assert not result.stdout
    monkeypatch.setenv("JAVA_HOME", str(here))
    assert f"JAVA_HOME is {here}, which has no bin/java" in run(*TRANSACTIONS).stderr


def test_without_pyspark(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "require_java", lambda: None)
    monkeypatch.setitem(__import__("sys").modules, "pyspark", None)
    result = run(*TRANSACTIONS)
    assert result.exit_code == 1
    assert "PYSPARK_MISSING" in result.stderr


class Submit:
    """A program in place of spark-submit."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "bin").mkdir(parents=True)
        (home / "jars").mkdir()
        self.prints(stdout=json.dumps({"exit": 0, "reasons": [], "result": {"decisions": []}}))

    def prints(self, stdout: str = "", stderr: str = "") -> None:
        """Sets what it prints."""
        (self.home / "out").write_text(stdout)
        (self.home / "err").write_text(stderr)
        program = self.home / "bin" / "spark-submit"
        program.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.home}/arguments\n'
            f"cat {self.home}/out\ncat {self.home}/err >&2\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    def arguments(self) -> list[str]:
        return (self.home / "arguments").read_text().splitlines()


@pytest.fixture
def submit(here: Path, monkeypatch: pytest.MonkeyPatch) -> Submit:
    submit = Submit(here / "spark")
    monkeypatch.setenv("SPARK_HOME", str(submit.home))
    monkeypatch.setattr(jars, "require_java", lambda: None)
    monkeypatch.setattr(jars, "_built", lambda: [])
    return submit


def test_the_jar_that_runs(here: Path, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    def resource() -> Any:
        assert run(*TRANSACTIONS).stdout == "no decision is open\n"
        arguments = submit.arguments()
        main = arguments.index("--class")
        assert arguments[main + 1] == "io.github.dynamickafka.sink.operate.OperatorTool"
        return arguments[main + 2 : arguments.index("transactions")]

    packages, coordinate, internal = resource()
    assert (packages, internal) == ("--packages", "spark-internal")
    assert coordinate.startswith("io.github.dynamickafka:dynamic-kafka-spark-")
    monkeypatch.setattr(jars, "_built", lambda: ["/built/a.jar", "/built/b.jar", "/built/c.jar"])
    assert resource() == ["--jars", "/built/b.jar,/built/c.jar", "/built/a.jar"]
    (submit.home / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar").touch()
    assert resource() == ["spark-internal"]
    (here / "own").mkdir()
    (here / "own" / "a.jar").touch()
    (here / "b.jar").touch()
    monkeypatch.setenv(jars.VARIABLE, "own,b.jar")
    assert resource() == ["--jars", str(here / "b.jar"), str(here / "own" / "a.jar")]


def test_what_is_missing_is_named(here: Path, submit: Submit) -> None:
    result = run(*TRANSACTIONS, "--jars", "nowhere.jar")
    assert result.exit_code == 1
    assert "no such jar: nowhere.jar" in result.stderr
    assert "kafka-clients" in result.stderr
    for said in ("Error: Failed to load class io.github...", "[unresolved dependency: io.github...: not found]"):
        submit.prints(stderr=said)
        result = run(*TRANSACTIONS)
        assert result.exit_code == 1
        assert "connector's jar was not found" in result.stderr
        assert "--jars" in result.stderr
    submit.prints(stderr="line one\n\nJava is too old\n")
    assert "The Java process failed: line one / Java is too old" in run(*TRANSACTIONS).stderr
    (submit.home / "bin" / "spark-submit").unlink()
    assert "has no bin/spark-submit" in run(*TRANSACTIONS).stderr


def test_reasons_go_to_standard_error(submit: Submit) -> None:
    submit.prints('noise\n{"exit": 1, "reasons": ["it is committed"]}\n', "WARN more noise")
    result = run(*RESOLVE, "--rewrite", "--json")
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", "it is committed\n")


def test_spark_connect_is_not_used(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    program = submit.home / "bin" / "spark-submit"
    program.write_text(program.read_text() + f"env > {submit.home}/environment\n")
    run(*TRANSACTIONS)
    assert "SPARK_REMOTE" not in (submit.home / "environment").read_text()
    assert "SPARK_REMOTE" in os.environ
