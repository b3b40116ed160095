"""The README's quickstart, run unchanged in a shell, and the same as a Scala script in `spark-shell`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

LIMIT_S = 600
# How long the JVMs of a shell that hangs may take to print their stacks.
STACKS_S = 30
# The connector is published to and found in this folder, so that ~/.m2 is not changed; users do not need this.
HOME = docs.ROOT / "target" / "home"
STOP = "python3 examples/clusters.py stop"
SCALA = docs.ROOT / "docs" / "quickstart.md"
# Targets of `make` that run the same tasks before the tests.
BUILD = "./sbt connector/publishM2 testkit/testkitClasspath\n"


def environment(folder: Path) -> dict[str, str]:
    """The environment of a shell without an active virtual environment."""
    dropped = ("SPARK_", "PYSPARK_", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    kept["PATH"] = os.pathsep.join(p for p in kept["PATH"].split(os.pathsep) if not p.startswith(str(docs.ROOT)))
    (folder / "spark-defaults.conf").write_text(f"spark.jars.ivy {folder}/ivy\nspark.ui.enabled false\n")
    return kept | {
        "SBT_OPTS": f"-Dmaven.repo.local={HOME}/.m2/repository",
        "SPARK_SUBMIT_OPTS": f"-Duser.home={HOME}",
        "SPARK_CONF_DIR": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def shell(script: str, folder: Path) -> str:
    """The output of the commands, each of which has to succeed.

    The error of a command that hangs has the stacks of its JVM.
    """
    running = subprocess.Popen(
        ["bash", "-e"],
        cwd=docs.ROOT,
        env=environment(folder),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = running.communicate(script, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        # The shell ignores it, Python ends, and a JVM prints its stacks.
        os.killpg(running.pid, signal.SIGQUIT)
        try:
            out, err = running.communicate(timeout=STACKS_S)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            out, err = running.communicate()
        raise AssertionError(f"took longer than {LIMIT_S} s\n{out}\n{err[-6000:]}") from None
    assert running.returncode == 0, out[-3000:] + err[-6000:]
    return out


@pytest.mark.timeout(LIMIT_S + 60)
@pytest.mark.parametrize("built", [True, pytest.param(False, marks=pytest.mark.test_all)])
def test_the_quickstart_prints_what_the_readme_shows(built: bool, tmp_path: Path) -> None:
    blocks = docs.quickstart()
    assert {block.language for block in blocks} == {"bash", "text"}
    script = "\n".join(block.text for block in blocks if block.language == "bash")
    assert script.startswith(BUILD)
    if built:
        # `make test` has just run these tasks, which take sbt most of a minute each time.
        assert (HOME / ".ready").exists()
        script = script.removeprefix(BUILD)
    try:
        printed = shell(script, tmp_path)
    finally:
        shell(STOP, tmp_path)
    (shown,) = [block.text for block in blocks if block.language == "text"]
    assert shown in printed


def test_the_quickstart_says_once_what_the_records_are() -> None:
    script = "\n".join(block.text for block in docs.quickstart() if block.language == "bash")
    assert len(re.findall(r"\bformat: ", script)) == len(re.findall(r"\bschema: ", script)) == 1
    assert set(re.findall(r"set_format\((.*?)\)", script)) == {'"metadata"'}
    assert "set_schema" not in script and ".schema(" not in script


@pytest.mark.test_all
@pytest.mark.timeout(LIMIT_S + 60)
def test_the_quickstart_as_a_scala_script(tmp_path: Path) -> None:
    """One process of `spark-shell`: it writes the orders, and prints what the README shows."""
    [script, command] = [b.text for b in docs.blocks("scala", "bash") if b.document == docs.name(SCALA)][:2]
    blocks = docs.quickstart()
    [start] = [b.text for b in blocks if "examples/clusters.py start" in b.text]
    (tmp_path / "quickstart.scala").write_text(script)
    run = command.replace("target/quickstart.scala", f"{tmp_path}/quickstart.scala").strip()
    assert (HOME / ".ready").exists()
    try:
        # As in an active virtual environment. At the end of its input, the shell ends.
        path = f'export PATH="{Path(sys.executable).parent}:$PATH"'
        printed = shell(f"{path}\n{start}{run} < /dev/null\n", tmp_path)
    finally:
        shell(STOP, tmp_path)
    (shown,) = [block.text for block in blocks if block.language == "text"]
    assert shown in printed
