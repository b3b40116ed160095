"""The output in docs/cli.md is the output of the command line."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY

from dynamic_kafka._tools.cli.app import app

DOCS = REPOSITORY / "docs"
GOLDEN = REPOSITORY / "tests/conformance/checkpoints/aggregation-4.2.0"
EXAMPLES = [
    (arguments, output)
    for arguments, output in re.findall(
        r"^\$ python -m dynamic_kafka (.+)\n((?:.*\n)*?)```$", (DOCS / "cli.md").read_text(), re.M
    )
    if arguments.split()[0] in app.commands
]
# The differences of the other files in the examples from streams.yaml.
BROKEN = {"state: draining": "state: drained", "green: {topics: [payments-eu": "gren: {topics: [payments-eu"}
NEW = {
    'bootstrap.servers: "green-1:9092"': 'bootstrap.servers: "green-1:9092,green-2:9092"',
    "      blue: {topics: [orders], state: draining}\n": "",
    "payments-us]": "payments-ca]",
    "streams:\n": '  red:\n    properties: {bootstrap.servers: "red-1:9092"}\nstreams:\n',
    "  payments:\n    clusters:\n": "  payments:\n    clusters:\n      red: {topics: [payments]}\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files of the examples."""
    found = re.search(r"```yaml\n(.*?)```", (DOCS / "metadata.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "streams.yaml").write_text(found[1])
    (tmp_path / "broken.yaml").write_text(changed(found[1], BROKEN))
    (tmp_path / "new.yaml").write_text(changed(found[1], NEW))

    shutil.copytree(GOLDEN, tmp_path / "counts")
    for folder, cluster in (("moved", "blue"), ("renamed", "blue")):
        done("migrate", tmp_path / "counts", "--to", tmp_path / folder, "--cluster", cluster)
    done("rename-cluster", tmp_path / "renamed", "blue", "azure")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*arguments: object) -> None:
    assert CliRunner().invoke(app, [*map(str, arguments)]).exit_code == 0


def changed(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=[arguments for arguments, _ in EXAMPLES])
def test_output_is_real(here: Path, arguments: str, output: str) -> None:
    assert CliRunner().invoke(app, shlex.split(arguments)).output == output


def test_every_command_has_an_example() -> None:
    assert {arguments.split()[0] for arguments, _ in EXAMPLES} == set(app.commands)
