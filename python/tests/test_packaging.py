from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from conftest import REPOSITORY

import dynamic_kafka
from dynamic_kafka._version import JAR_VERSION

pytestmark = pytest.mark.packaging


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that was made of it."""
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


def test_a_version_that_python_cannot_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "python"))
    import hatch_build

    with pytest.raises(ValueError, match="not of the form"):
        hatch_build.python_version("1.2-beta")


def test_the_wheel_holds_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"dynamic_kafka-{dynamic_kafka.__version__}-py3-none-any.whl"
    names = zipfile.ZipFile(wheel).namelist()
    source = REPOSITORY / "python" / "src"
    modules = {p.relative_to(source).as_posix() for p in source.rglob("*.py")}
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged == modules | {"dynamic_kafka/py.typed", "dynamic_kafka/metadata.schema.json"}
    assert "dynamic_kafka/_version.py" in packaged


def test_the_sdist_holds_what_a_wheel_needs(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {"version.sbt", "hatch_build.py", "README.md", "src/dynamic_kafka/_version.py"} <= names
    assert not [name for name in names if "test" in name]


def test_the_wheel_works_without_pyspark(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (wheel,) = built.glob("*.whl")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
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
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    version, options, *errors = done.stdout.splitlines()
    assert version == dynamic_kafka.__version__
    assert "metadataService.document" in options
    assert len(errors) == 2
    assert all(e.startswith("[DYNAMIC_KAFKA.PYSPARK_MISSING]") for e in errors)
