"""Checkpoints for the tests of ``migrate``."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.cli.app import app

GOLDEN = REPOSITORY / "tests/conformance/checkpoints"
CLUSTERS = {
    "several-sources": ["0=blue", "2=green"],
    "offsets-2": ["0=blue", "2=green"],
    "names": ["second=blue", "first=green"],
    "aggregation": ["blue"],
    "commits-2": ["blue"],
}
FORMS = sorted(folder.name for folder in GOLDEN.iterdir())


def clusters(form: str) -> list[str]:
    return CLUSTERS[form.rpartition("-")[0]]


def run(*arguments: object, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["migrate", *map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return result


def given(form: str) -> list[str]:
    return [argument for id in clusters(form) for argument in ("--cluster", id)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint of one Kafka source with state."""
    return Path(shutil.copytree(GOLDEN / "aggregation-4.2.0", tmp_path / "old"))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


@pytest.fixture
def moved(old: Path, tmp_path: Path) -> Path:
    """A checkpoint that was migrated."""
    run(old, "--to", tmp_path / "moved", "--cluster", "blue")
    return tmp_path / "moved"


def log(checkpoint: Path, batch: int, *offsets: str, commit: bool = True) -> None:
    text = "\n".join(["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1}', *offsets])
    (checkpoint / "offsets" / str(batch)).write_text(text)
    if commit:
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
