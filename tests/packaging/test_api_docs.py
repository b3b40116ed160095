"""The API documentation can be generated, and describes every public name."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import dynamic_kafka
import pytest

from .home import COORDINATE, published

PUBLIC = [name for name in dynamic_kafka.__all__ if name != "__version__"]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_have_a_docstring(name: str) -> None:
    thing = getattr(dynamic_kafka, name)
    assert inspect.getdoc(thing)
    members = vars(thing).items() if inspect.isclass(thing) else []
    functions = {n: inspect.unwrap(getattr(m, "__func__", getattr(m, "fget", m))) for n, m in members}
    missing = [n for n, f in functions.items() if not n.startswith("_") and callable(f) and not f.__doc__]
    assert missing == []


@pytest.mark.test_all
def test_the_python_documentation_is_generated_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-m", "pdoc", "--docformat", "google"]
    command += ["--output-directory", str(tmp_path), "dynamic_kafka"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Warn" not in done.stderr
    page = (tmp_path / "dynamic_kafka.html").read_text()
    assert sorted(re.findall(r'<section id="(\w+)">', page)) == sorted(dynamic_kafka.__all__)
    assert not [module for module in tmp_path.rglob("_*.html")], "a private module is shown"


@pytest.mark.test_all
def test_the_scala_documentation_has_the_public_classes() -> None:
    """sbt generates it, with warnings as errors, when the connector is published."""
    _, artifact, version = COORDINATE.split(":")
    with zipfile.ZipFile(published() / f"{artifact}-{version}-javadoc.jar") as archive:
        pages = {name.removeprefix("io/github/dynamickafka/") for name in archive.namelist()}
        index = archive.read("index.html").decode()
    assert pages & set(re.findall(r'url=io/github/dynamickafka/(.+?)"', index)) == {"DynamicKafka$.html"}
    shown = {page.removesuffix(".html").rstrip("$") for page in pages if re.search(r"[A-Z]\w*\$?\.html$", page)}
    builders = {"DynamicKafkaBuilder", "DynamicKafkaReaderBuilder", "DynamicKafkaWriterBuilder"}
    assert {"DynamicKafka", "OffsetsInitializer"} | builders <= shown
    assert {"metadata/KafkaMetadataService", "metadata/KafkaStream", "error/DynamicKafkaError"} <= shown
    assert not [name for name in shown if name.startswith(("config/", "offset/", "sink/", "source/"))]
