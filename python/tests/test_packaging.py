from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from conftest import REPOSITORY

import dynamic_kafka
from dynamic_kafka._version import JAR_VERSION

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(REPOSITORY / "python")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def test_the_version_is_the_one_of_version_sbt() -> None:
    text = (REPOSITORY / "version.sbt").read_text()
    assert f'ThisBuild / version := "{JAR_VERSION}"' in text, (
        "stale: install python/ again (pip install -e python)"
    )
    assert dynamic_kafka.__version__ == JAR_VERSION.replace("-SNAPSHOT", ".dev0").replace("-RC", "rc")


@pytest.mark.parametrize(
    ("jar", "python"), [("1.2.3", "1.2.3"), ("1.2.3-SNAPSHOT", "1.2.3.dev0"), ("1.2.3-RC4", "1.2.3rc4")]
)
def test_versions_of_both_worlds(monkeypatch: pytest.MonkeyPatch, jar: str, python: str) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "python"))
    import hatch_build

    assert hatch_build.python_version(jar) == python


def test_a_version_that_python_cannot_express(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "python"))
    import hatch_build

    with pytest.raises(ValueError, match="does not have the form"):
        hatch_build.python_version("1.2-beta")


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"dynamic_kafka-{dynamic_kafka.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    source = REPOSITORY / "python" / "src"
    modules = {p.relative_to(source).as_posix() for p in source.rglob("*.py")}
    packaged = {name for name in names if ".dist-info/" not in name}
    resources = {f"dynamic_kafka/{name}" for name in ("py.typed", "metadata.schema.json", "redaction.json")}
    assert packaged == modules | resources
    assert "dynamic_kafka/_version.py" in packaged


def test_the_sdist_holds_what_a_wheel_needs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"version.sbt", "hatch_build.py", "README.md", "src/dynamic_kafka/_version.py"} <= names
    assert not [name for name in names if "test" in name]


def test_the_license_is_that_of_the_repository() -> None:
    assert (REPOSITORY / "python" / "LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_the_metadata_of_the_wheel(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        (folder,) = {name.split("/")[0] for name in archive.namelist() if ".dist-info/" in name}
        metadata = Parser().parsestr(archive.read(f"{folder}/METADATA").decode())
        assert archive.read(f"{folder}/licenses/LICENSE") == (REPOSITORY / "LICENSE").read_bytes()
    assert metadata["Name"] == "dynamic-kafka"
    assert metadata["Version"] == dynamic_kafka.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata.get_payload() == (REPOSITORY / "python" / "README.md").read_text()
    # Every dependency belongs to an extra.
    assert [need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need] == []


@pytest.fixture(scope="module", params=["*.whl", "*.tar.gz"])
def installed(request: pytest.FixtureRequest, built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an empty environment, in which the wheel or the sdist was installed."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    (distribution,) = built.glob(request.param)
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "-q",
        "--no-deps",
        str(distribution),
    ]
    done = subprocess.run(install, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return python


def test_it_works_without_pyspark(installed: Path, tmp_path: Path) -> None:
    code = """
import dynamic_kafka as d
stream = d.KafkaStream("orders", {"blue": d.ClusterMetadata(["orders"], {"bootstrap.servers": "b:1"})})
print(d.__version__)
print(d.DynamicKafka.builder().set_kafka_metadata_service(d.StaticMetadataService([stream])).options())
for attempt in (d.DynamicKafka.builder().load, lambda: d.DynamicKafka.configure(None)):
    try:
        attempt()
    except d.DynamicKafkaError as e:
        print(e)
"""
    done = subprocess.run([str(installed), "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    version, options, *errors = done.stdout.splitlines()
    assert version == dynamic_kafka.__version__
    assert "metadataService.document" in options
    assert len(errors) == 2
    assert all(e.startswith("[DYNAMIC_KAFKA.PYSPARK_MISSING]") for e in errors)


PROGRAM = """
from datetime import timedelta

from dynamic_kafka import (
    ClusterMetadata,
    DynamicKafka,
    DynamicKafkaReaderBuilder,
    KafkaStream,
    OffsetsInitializer,
    StaticMetadataService,
)

stream = KafkaStream("orders", {"blue": ClusterMetadata(["orders"], {"bootstrap.servers": "blue:9092"})})
builder: DynamicKafkaReaderBuilder = (
    DynamicKafka.builder()
    .set_kafka_metadata_service(StaticMetadataService([stream]))
    .set_stream_ids("orders")
    .set_starting_offsets(OffsetsInitializer.latest())
    .set_metadata_discovery_interval(timedelta(seconds=10))
)
options: dict[str, str] = builder.options()
"""


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("", None),
        ("builder.set_stream_ids(1)", "arg-type"),
        ("builder.set_streams('orders')", "attr-defined"),
        ("number: int = builder.options()", "assignment"),
    ],
)
def test_it_is_typed(installed: Path, tmp_path: Path, more: str, wrong: str | None) -> None:
    """A user's program is type-checked against the installed package, without this repository."""
    (tmp_path / "program.py").write_text(f"{PROGRAM}{more}\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(installed), "program.py"]
    # The package is analysed once, and not for each program.
    command += ["--cache-dir", str(installed.parent / "mypy")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    if wrong is None:
        assert done.returncode == 0, done.stdout
    else:
        assert done.returncode == 1
        assert f"[{wrong}]" in done.stdout
        assert "Found 1 error" in done.stdout
