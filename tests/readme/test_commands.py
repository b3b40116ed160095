"""Commands in pages, messages and examples that install, build or operate: each kind is run, here or elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs
from dynamic_kafka._version import JAR_VERSION

MAKEFILE = (docs.ROOT / "Makefile").read_text()
HOSTED = (docs.ROOT / ".github" / "workflows" / "ci.yml").read_text()
PROJECT = (docs.ROOT / "python" / "pyproject.toml").read_text()
QUICKSTART = "\n".join(block.text for block in docs.quickstart() if block.language == "bash")
# What the extra `spark` installs.
[PYSPARK] = re.findall(r'^spark = \["(.+)"\]$', PROJECT, re.MULTILINE)
# Where the image of the examples has the package.
IN_IMAGE = "/tmp/dynamic-kafka"


def sources() -> list[Path]:
    """What users read: pages, the texts of messages, and examples."""
    found = [*docs.documents(), *(file for file in docs.ROOT.glob("examples/**/*") if file.suffix != ".pyc")]
    for pattern in ("python/src/**/*.py", "jvm/*/src/main/**/*.scala", "jvm/*/src/main/**/*.json"):
        found += docs.ROOT.glob(pattern)
    return [file for file in found if file.is_file()]


def named(pattern: str) -> list[str]:
    """What the group of the pattern is in all sources."""
    texts = (file.read_text("utf-8", errors="replace") for file in sources())
    return sorted({found for text in texts for found in re.findall(pattern, text)})


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a new virtual environment."""
    folder = tmp_path_factory.mktemp("commands") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin"


@pytest.mark.parametrize("package", named(r"\bpip install (?:--[\w-]+ )*('[^']+'|[\w.][\w./-]*)"))
def test_packages_are_installed_in_a_new_environment(package: str, environment: Path) -> None:
    """The quickstart, which is run as a whole, installs PySpark. A package of another project has to exist."""
    name = package.strip("'")
    if name.startswith("dynamic-kafka"):
        # On the commit of a release. Before it is published, the name on PyPI is anybody's.
        assert not JAR_VERSION.endswith("-SNAPSHOT")
        name = name.replace("dynamic-kafka", "./python")
    if name in (PYSPARK, "./python[spark]"):
        assert "\npip install --quiet './python[spark]'\n" in QUICKSTART
        return
    is_own = name.endswith("/python")
    options = [] if is_own else ["--dry-run", "--no-deps"]
    command = [str(environment / "python"), "-m", "pip", "install", *options, name.replace(IN_IMAGE, ".")]
    kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SPARK_HOME")}
    done = subprocess.run(command, cwd=docs.ROOT, env=kept, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    if is_own:
        validate = [str(environment / "python"), "-m", "dynamic_kafka", "validate", "streams.yaml"]
        done = subprocess.run(validate, env=kept, capture_output=True, text=True, check=False)
        assert done.stderr.endswith(f"Install it with: pip install '{PYSPARK}'\n")


def test_tasks_of_sbt_are_those_of_make_or_the_quickstart() -> None:
    tasks = {
        task for found in named(r"(?<![\w.])\./sbt (?:-D\S+ )*(\w+/\w+(?: \w+/\w+)*)") for task in found.split()
    }
    assert len(tasks) > 3
    assert sorted(tasks - set(re.findall(r"\w+/\w+", MAKEFILE + QUICKSTART))) == []


def test_the_command_line_has_each_command() -> None:
    """The examples of docs/cli.md are run; its first table names all commands."""
    table = (docs.ROOT / "docs" / "cli.md").read_text().partition("\n## ")[0]
    commands = named(r"python -m dynamic_kafka ([a-z][a-z-]*)")
    assert len(commands) > 10
    assert sorted(set(commands) - set(re.findall(r"`([a-z-]+)`", table))) == []


def test_one_job_of_the_night_runs_everything() -> None:
    jobs = yaml.safe_load(HOSTED)["jobs"]
    nightly = [job for job in jobs.values() if "== 'schedule'" in job.get("if", "")]
    assert [step["run"] for job in nightly for step in job["steps"] if "run" in step] == ["make test-all"]


def test_make_has_each_target() -> None:
    """In pages, and in the hosted CI. Pages of changes name targets of their time."""
    pages = [file for file in docs.documents() if file.name != "CHANGELOG.md"]
    texts = [file.read_text() for file in pages]
    texts += [f"`{command} `" for command in re.findall(r"- run: (make .+)", HOSTED)]
    targets = {found for text in texts for found in re.findall(r"`make ([a-z-]+)[ `]", text)}
    extras = {found for text in texts for found in re.findall(r"`make extra NAME=([a-z-]+)", text)}
    known = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert len(targets) > 5
    assert sorted((targets | {f"extra-{name}" for name in extras}) - known) == []
