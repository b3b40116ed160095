"""The command line, run as by users, but in this process."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka import __main__ as program
from dynamic_kafka._tools.cli.app import app


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def test_wrong_usage() -> None:
    result = run("invent")
    assert result.exit_code == 2
    assert "Usage:" in result.stderr


def test_without_the_libraries(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["dynamic_kafka", "migrate"])
    monkeypatch.setattr(program, "find_spec", lambda name: None if name in ("click", "yaml") else object())
    assert program.main() == 2
    text = "The command line needs click, PyYAML: pip install 'dynamic-kafka[cli]'\n"
    assert capsys.readouterr().err == text


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
