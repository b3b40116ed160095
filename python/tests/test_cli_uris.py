"""Checkpoints and files on a URI: the commands that read accept them, and those that change refuse them."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-not-found,import-untyped,unused-ignore]
import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY
from test_plan import FILE, FakeCluster

from dynamic_kafka._tools.cli import watching
from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.plan import asking

CHECKPOINT = REPOSITORY / "jvm/connector/src/test/resources/checkpoints/0.1.0"
STREAMS = "memory://bucket/streams.yaml"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkpoint and a file in the working folder, and the same in the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(asking, "Cluster", FakeCluster)
    shutil.copytree(CHECKPOINT, "checkpoint")
    (topology,) = Path("checkpoint").rglob("topology/1.json")
    clusters = json.loads(topology.read_text())["current"].values()
    (stream,) = {topic["stream"] for cluster in clusters for topic in cluster["topics"].values()}
    Path("streams.yaml").write_text(FILE.replace("golden:", f"{stream}:"))
    store = fsspec.filesystem("memory")
    store.put("checkpoint", "/bucket/checkpoint", recursive=True)
    store.put("streams.yaml", "/bucket/streams.yaml")
    yield tmp_path
    store.rm("/bucket", recursive=True)


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(app, [*arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.mark.parametrize("root", ["memory://bucket", "file://{here}"])
@pytest.mark.parametrize(
    "command",
    [
        ["offsets", "{at}/checkpoint", "--no-lag", "--json"],
        ["offsets", "{at}/checkpoint/", "--no-lag"],
        ["lag", "{at}/checkpoint", "--metadata", "{at}/streams.yaml", "--timeout", "0.1", "--json"],
        ["plan", "{at}/checkpoint", "{at}/streams.yaml", "--json"],
        ["validate", "{at}/streams.yaml"],
        ["diff", "{at}/streams.yaml", "{at}/streams.yaml"],
        ["streams", "{at}/streams.yaml"],
    ],
    ids=lambda command: command[0],
)
def test_the_same_as_on_this_machine(files: Path, command: list[str], root: str) -> None:
    def at(place: str) -> Result:
        return run(*(argument.format(at=place) for argument in command))

    place = root.format(here=files)
    here, there = at("."), at(place)
    assert (there.exit_code, there.stderr) == (here.exit_code, here.stderr)
    shown = files if root.startswith("file") else place
    assert there.stdout == here.stdout.replace("streams.yaml", f"{shown}/streams.yaml")


def test_problems_name_the_uri(files: Path) -> None:
    fsspec.filesystem("memory").pipe("/bucket/streams.yaml", b"version: 3\n")
    result = run("validate", STREAMS)
    assert result.exit_code == 1
    assert STREAMS in result.stdout + result.stderr
    result = run("plan", "memory://bucket/checkpoint", STREAMS)
    assert (result.exit_code, result.stdout) == (1, "")
    assert STREAMS in result.stderr


def test_the_newest_batches_are_read_of_many(files: Path) -> None:
    store = fsspec.filesystem("memory")
    newest = store.cat_file("/bucket/checkpoint/offsets/1")
    for number in range(2, 120):
        store.pipe(f"/bucket/checkpoint/offsets/{number}", newest)
        store.pipe(f"/bucket/checkpoint/commits/{number}", b"v1\n{}")
    assert json.loads(run("offsets", "memory://bucket/checkpoint", "--no-lag", "--json").stdout)["batch"] == 119


def test_watch_reads_again(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = fsspec.filesystem("memory")

    def write_a_batch() -> None:
        if store.exists("/bucket/checkpoint/offsets/2"):
            raise KeyboardInterrupt
        store.pipe("/bucket/checkpoint/offsets/2", store.cat_file("/bucket/checkpoint/offsets/1"))

    monkeypatch.setattr(watching, "wait", write_a_batch)
    result = run("offsets", "memory://bucket/checkpoint", "--no-lag", "--watch")
    assert result.exit_code == 0, result.stderr
    assert "batch 2" in result.stdout


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        (["migrate", "{checkpoint}", "--to", "new", "--cluster", "blue"], "copy it here"),
        (["rename-cluster", "{checkpoint}", "blue", "azure"], "copy it here"),
        (["restore", "{checkpoint}"], "copy it here"),
        (
            ["reset", "{checkpoint}", "--cluster", "blue", "--to", "latest", "--metadata", STREAMS],
            "CALL <catalog>.system.reset",
        ),
        (["drain", STREAMS, "blue"], "CALL <catalog>.system.drain"),
        (["activate", STREAMS, "blue"], "CALL <catalog>.system.activate"),
        (["move", STREAMS, "--stream", "x", "--from", "blue", "--to", "red"], "CALL <catalog>.system.move"),
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


@pytest.mark.parametrize(
    ("uri", "code", "says"),
    [
        ("memory://bucket/none", 2, "Directory 'memory://bucket/none' does not exist"),
        ("memory://bucket/streams.yaml", 2, "does not exist"),
        ("nowhere://bucket/checkpoint", 1, "nowhere"),
    ],
)
def test_what_is_not_there(files: Path, uri: str, code: int, says: str) -> None:
    result = run("offsets", uri)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr


def test_without_fsspec(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    result = run("offsets", "memory://bucket/checkpoint")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "pip install 'dynamic-kafka[uri]'" in result.stderr
