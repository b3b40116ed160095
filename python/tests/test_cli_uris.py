"""Checkpoints and files on a URI: the commands that read accept them, and those that change refuse them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.cli.app import app

CHECKPOINT = REPOSITORY / "jvm/connector/src/test/resources/checkpoints/0.1.0"
FILE = """version: 1
clusters: {blue: {properties: {bootstrap.servers: "blue:9092"}}}
streams: {orders: {clusters: {blue: {topics: [orders]}}}}
"""
STREAMS = "memory://bucket/streams.yaml"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkpoint and a file in the working folder, and the same in the store."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(CHECKPOINT, "checkpoint")
    Path("streams.yaml").write_text(FILE)
    store = fsspec.filesystem("memory")
    store.put("checkpoint", "/bucket/checkpoint", recursive=True)
    store.put("streams.yaml", "/bucket/streams.yaml")
    yield tmp_path
    store.rm("/bucket", recursive=True)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (["migrate", "{checkpoint}", "--to", "new", "--cluster", "blue"], "copy it here"),
        (["rename-cluster", "{checkpoint}", "blue", "azure"], "copy it here"),
        (["restore", "{checkpoint}"], "copy it here"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_changes_is_refused(files: Path, command: list[str], remedy: str) -> None:
    store = fsspec.filesystem("memory")
    before = {file: store.cat_file(file) for file in store.find("/bucket")}
    result = run(*(argument.format(checkpoint="memory://bucket/checkpoint") for argument in command))
    assert (result.exit_code, result.stdout) == (1, "")
    assert remedy in result.stderr
    assert {file: store.cat_file(file) for file in store.find("/bucket")} == before
    assert sorted(path.name for path in files.iterdir()) == ["checkpoint", "streams.yaml"]


def test_a_new_checkpoint_on_a_uri(files: Path) -> None:
    result = run("migrate", "checkpoint", "--to", "memory://bucket/new", "--to-kafka")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "copy it to its place afterwards" in result.stderr
    assert sorted(path.name for path in files.iterdir()) == ["checkpoint", "streams.yaml"]
