"""The command line, run as by users, but in this process."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka import __main__ as program
from dynamic_kafka._tools.cli.app import app

SECRET = "hunter2"
JAAS = f'x.PlainLoginModule required username="reader" password="{SECRET}";'
STREAMS = f"""version: 1
clusters:
  blue:
    properties:
      bootstrap.servers: blue:9092
      security.protocol: SASL_SSL
      sasl.jaas.config: '{JAAS}'
      ssl.key.password: {SECRET}
      fetch.max.wait.ms: 10
      some.vendors.token: {SECRET}
  green:
    properties: {{bootstrap.servers: "green:9092"}}
streams:
  orders:
    clusters:
      blue: {{topics: [orders, more], state: draining}}
      green: {{topics: [orders], starting_offsets: {{orders: {{0: 42}}}}}}
  payments:
    clusters:
      green: {{topics: [payments]}}
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streams.yaml").write_text(STREAMS)
    return Path("streams.yaml")


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert SECRET not in result.output
    assert SECRET not in result.stderr
    return result


def run_json(*arguments: str | Path, exit_code: int = 0) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == exit_code
    return json.loads(result.stdout)


def changed(file: Path, *replacements: tuple[str, str]) -> Path:
    text = STREAMS
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    other = file.with_name("other.yaml")
    other.write_text(text)
    return other


def test_a_good_file(file: Path) -> None:
    result = run("validate", file)
    assert result.exit_code == 0
    assert result.stdout == "streams.yaml: 2 streams on 2 clusters\n"
    assert run_json("validate", file) == {"file": "streams.yaml", "valid": True, "errors": [], "warnings": []}


def test_a_bad_file(file: Path) -> None:
    other = changed(file, ("[orders, more]", "[orders, 7]"), ("state: draining", "sate: draining"))
    result = run("validate", other)
    assert result.exit_code == 1
    assert result.stdout == ""
    where = "other.yaml:16: stream 'orders', cluster 'blue', key"
    first, second, total = sorted(result.stderr.splitlines(), key=len)[::-1]
    assert first.startswith(f"{where} 'sate': there is no such key here")
    assert second == f"{where} 'topics': must be text, but is a number: put it in quotes"
    assert total == "2 errors"
    answer = run_json("validate", other, exit_code=1)
    assert not answer["valid"]
    assert {"file": "other.yaml", "line": 16, "stream": "orders", "cluster": "blue"}.items() <= answer["errors"][
        0
    ].items()
    assert {error["key"] for error in answer["errors"]} == {"topics", "sate"}


def test_warnings_do_not_count(file: Path) -> None:
    other = changed(file, ("  green:\n", "  red: {properties: {bootstrap.servers: 'r:1'}}\n  green:\n"))
    result = run("validate", other)
    assert result.exit_code == 0
    assert result.stderr == "other.yaml:11: cluster 'red': no stream uses this cluster (warning)\n"
    assert [warning["line"] for warning in run_json("validate", other)["warnings"]] == [11]


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate",),
        ("validate", "nowhere.yaml"),
        ("validate", "--quickly", "streams.yaml"),
        ("describe", "streams.yaml"),
        ("diff", "streams.yaml"),
        ("invent",),
    ],
)
def test_wrong_usage(file: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


@pytest.mark.parametrize(("command", "exit_code"), [(("describe", "orders"), 1), (("diff", "streams.yaml"), 2)])
def test_other_commands_refuse_a_bad_file(file: Path, command: tuple[str, ...], exit_code: int) -> None:
    other = changed(file, ("version: 1", "version: 2"))
    name, *rest = command
    result = run(name, other, *rest)
    assert result.exit_code == exit_code
    assert result.stderr == "other.yaml:1: key 'version': version 2 is unknown; this release supports version 1\n"


def test_describe(file: Path) -> None:
    assert run("describe", file, "orders").stdout.splitlines() == [
        "stream orders",
        "",
        "cluster blue",
        "  state               draining",
        "  topics              orders, more",
        "  bootstrap.servers   blue:9092",
        "  fetch.max.wait.ms   10",
        "  sasl.jaas.config    (redacted)",
        "  security.protocol   SASL_SSL",
        "  some.vendors.token  (redacted)",
        "  ssl.key.password    (redacted)",
        "",
        "cluster green",
        "  state              active",
        "  topics             orders",
        '  starting_offsets   {"orders":{"0":42}}',
        "  bootstrap.servers  green:9092",
    ]
    green = run_json("describe", file, "orders")["clusters"]["green"]
    assert green == {
        "state": "active",
        "topics": ["orders"],
        "starting_offsets": '{"orders":{"0":42}}',
        "stopping_offsets": None,
        "properties": {"bootstrap.servers": "green:9092"},
    }


def test_describe_an_unknown_stream(file: Path) -> None:
    result = run("describe", file, "oders")
    assert result.exit_code == 1
    assert result.stderr == "streams.yaml: there is no stream 'oders'. Did you mean 'orders'?\n"


def test_no_difference(file: Path) -> None:
    same = changed(file, ("[orders, more]", "[more, orders]"), ("blue:\n", "blue: # a comment\n"))
    result = run("diff", file, same)
    assert (result.exit_code, result.stdout) == (0, "")
    assert run_json("diff", file, same) == {"same": True, "changes": []}


def test_differences(file: Path) -> None:
    other = changed(
        file,
        ("state: draining", "state: active"),
        ("blue: {topics: [orders, more]", "blue: {topics: [orders, fewer]"),
        ("{0: 42}", "{0: 43}"),
        (f"ssl.key.password: {SECRET}", f"ssl.key.password: {SECRET}-new"),
        (f"      some.vendors.token: {SECRET}\n", ""),
        ("fetch.max.wait.ms: 10", "fetch.max.wait.ms: 20"),
        ("  payments:\n", "  audits:\n"),
        ("      green: {topics: [payments]}", "      red: {topics: [audits]}"),
        ("streams:\n", "  red: {properties: {bootstrap.servers: 'red:9092', client.id: x}}\nstreams:\n"),
    )
    result = run("diff", file, other)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        "~ cluster blue, property fetch.max.wait.ms changes: 10 -> 20",
        "- cluster blue, property some.vendors.token leaves: (redacted)",
        "~ cluster blue, property ssl.key.password changes: (redacted) -> (redacted)",
        "+ cluster red enters",
        "+ stream audits enters",
        "+ stream audits, cluster red enters",
        "~ stream orders, cluster blue is active again",
        "+ stream orders, cluster blue, topic fewer enters",
        "- stream orders, cluster blue, topic more leaves",
        '~ stream orders, cluster green, starting_offsets changes: {"orders":{"0":42}} -> {"orders":{"0":43}}',
        "- stream payments leaves",
        "- stream payments, cluster green leaves",
    ]
    back = run("diff", other, file).stdout.splitlines()
    assert "~ stream orders, cluster blue drains" in back
    assert "- cluster red leaves" in back
    answer = run_json("diff", file, other, exit_code=1)
    assert not answer["same"]
    assert answer["changes"][1] == {
        "what": "property",
        "how": "leaves",
        "stream": None,
        "cluster": "blue",
        "name": "some.vendors.token",
        "old": "(redacted)",
        "new": None,
    }


def test_a_removed_cluster_in_differences(file: Path) -> None:
    removed = changed(file, ("state: draining", "state: removed"))
    assert run("diff", file, removed).stdout == "~ stream orders, cluster blue is removed\n"


def test_offsets_that_are_added_or_removed(file: Path) -> None:
    other = changed(file, (", starting_offsets: {orders: {0: 42}}", ""))
    assert run("diff", other, file).stdout == (
        '~ stream orders, cluster green, starting_offsets changes: none -> {"orders":{"0":42}}\n'
    )


def test_a_cluster_that_takes_no_writes(file: Path) -> None:
    other = changed(file, ("state: draining", "state: draining, write: false"))
    lines = run("describe", other, "orders").stdout.splitlines()
    assert lines[2:5] == ["cluster blue", "  state               draining", "  write               false"]
    assert sum("write" in line for line in lines) == 1
    described = run_json("describe", other, "orders")["clusters"]
    assert described["blue"]["write"] is False
    assert "write" not in described["green"]
    assert run("diff", file, other).stdout == "~ stream orders, cluster blue takes no writes\n"
    assert run("diff", other, file).stdout == "~ stream orders, cluster blue takes writes again\n"
    (change,) = run_json("diff", file, other, exit_code=1)["changes"]
    assert (change["what"], change["old"], change["new"]) == ("write", "true", "false")


def test_the_schema_for_editors() -> None:
    schema = REPOSITORY / "python/src/dynamic_kafka/metadata.schema.json"
    assert run("schema").stdout == schema.read_text()


def test_as_a_program(file: Path) -> None:
    command = [sys.executable, "-m", "dynamic_kafka"]
    done = subprocess.run([*command, "validate", "streams.yaml"], capture_output=True, text=True)
    assert done.returncode == 0


def test_without_the_libraries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(program, "find_spec", lambda name: None if name in ("click", "yaml") else object())
    assert program.main() == 2
    text = "The command line needs click, PyYAML: pip install 'dynamic-kafka[cli]'\n"
    assert capsys.readouterr().err == text


def test_topics_by_pattern_and_by_partition(file: Path) -> None:
    other = changed(
        file,
        ("green: {topics: [payments]}", "green: {topic_pattern: 'payments-.*'}"),
        ("blue: {topics: [orders, more]", "blue: {partitions: {orders: [0, 2]}"),
    )
    assert "  partitions          orders (0, 2)" in run("describe", other, "orders").stdout.splitlines()
    assert run_json("describe", other, "orders")["clusters"]["blue"]["partitions"] == {"orders": [0, 2]}
    assert run("diff", file, other).stdout.splitlines() == [
        "- stream orders, cluster blue, topic more leaves",
        "~ stream orders, cluster blue, partitions orders changes: all -> 0, 2",
        "- stream payments, cluster green, topic payments leaves",
        "~ stream payments, cluster green, topic_pattern changes: none -> payments-.*",
    ]


# What errors and the program name: the command, and the options before the next comma or sentence.
ERRORS = [
    *REPOSITORY.glob("jvm/*/src/main/resources/error/*.json"),
    *REPOSITORY.glob("python/src/dynamic_kafka/**/*.py"),
    *REPOSITORY.glob("jvm/*/src/main/scala/**/*.scala"),
]
NAMED = re.compile(r"python -m dynamic_kafka ([a-z][a-z-]*)([^.,\n]*)")


def named() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in ERRORS:
        for command, rest in NAMED.findall(path.read_text()):
            found.setdefault(command, set()).update(re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest))
    return found


@pytest.mark.parametrize("command", sorted(named().keys() & app.commands.keys()))
def test_a_command_that_an_error_names_exists_with_its_options(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0, result.output
    for option in named()[command]:
        assert option in result.output


def test_errors_name_commands() -> None:
    assert {"migrate", "rename-cluster", "resolve"} <= set(named())
    assert "--abandon-cluster" in named()["resolve"]
