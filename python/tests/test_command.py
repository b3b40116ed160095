"""How the launcher finds Java and the jars, with programs in their places."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest
from conftest import REPOSITORY

from dynamic_kafka import _command

MAIN = "io.github.dynamickafka.admin.Main"


class Machine:
    """A folder of Spark and a folder of Java."""

    def __init__(self, here: Path) -> None:
        self.here = here
        self.spark = here / "spark"
        self.cache = here / "cache"
        (self.spark / "jars").mkdir(parents=True)
        self.program(here / "java/bin/java", f'printf "%s\\n" "$@" > {here}/arguments; cat; echo said >&2; exit 3')
        self.environment = {
            **os.environ,
            "JAVA_HOME": str(here / "java"),
            "SPARK_HOME": str(self.spark),
            "XDG_CACHE_HOME": str(self.cache),
            # A copy of the package is not that of a source tree with a build.
            "PYTHONPATH": str(here / "packages"),
        }
        self.environment.pop(_command.VARIABLE, None)
        (here / "packages").mkdir()
        (here / "packages" / "dynamic_kafka").symlink_to(REPOSITORY / "python/src/dynamic_kafka")

    def program(self, path: Path, text: str) -> None:
        """Writes a program of the shell."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "dynamic_kafka", *arguments],
            cwd=self.here,
            env=self.environment | environment,
            input="typed\n",
            capture_output=True,
            text=True,
        )

    def arguments(self) -> list[str]:
        return (self.here / "arguments").read_text().splitlines()

    def class_path(self, *arguments: str, **environment: str) -> list[str]:
        """Runs a command, and returns where its classes are from, without Spark's jars, which are last."""
        assert self.run(*arguments, **environment).returncode == 3
        given = self.arguments()
        *own, spark = given[given.index("-cp") + 1].split(os.pathsep)
        assert spark == str(self.spark / "jars" / "*")
        return own


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path)


def test_all_is_passed_through(machine: Machine) -> None:
    (machine.spark / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar").touch()
    done = machine.run("streams", "a b.yaml", "--json")
    assert (done.returncode, done.stdout, done.stderr) == (3, "typed\n", "said\n")
    arguments = machine.arguments()
    assert arguments[arguments.index(MAIN) :] == [MAIN, "streams", "a b.yaml", "--json"]


def test_no_arguments(machine: Machine) -> None:
    (machine.spark / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar").touch()
    assert machine.run().returncode == 3
    assert machine.arguments()[-1] == MAIN
    assert machine.class_path("x", "--jars") == []


def test_where_the_jars_are_from(machine: Machine) -> None:
    (machine.here / "own").mkdir()
    for jar in ("own/a.jar", "own/b.jar", "c.jar"):
        (machine.here / jar).touch()
    own = [str(machine.here / jar) for jar in ("own/a.jar", "own/b.jar", "c.jar")]
    assert machine.class_path("x", DYNAMIC_KAFKA_JARS="own, c.jar") == own
    assert machine.class_path("x", "--jars", "c.jar", DYNAMIC_KAFKA_JARS="own") == own[2:]
    assert machine.class_path("x", "--jars=c.jar", HADOOP_CONF_DIR="/etc/hadoop") == ["/etc/hadoop", own[2]]
    (machine.spark / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar").touch()
    assert machine.class_path("x") == []


def test_a_build_of_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamic_kafka._artifact.spark_line", lambda: "4.0")
    assert all("/line-4.0/jars/" in jar for jar in _command._built())


def test_spark_submit_finds_the_coordinate_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_command, "_built", lambda: [])
    for name, value in machine.environment.items():
        monkeypatch.setenv(name, value)
    jars = [machine.here / "a.jar", machine.here / "b.jar"]
    submit = machine.spark / "bin" / "spark-submit"
    machine.program(submit, "echo 'unresolved dependency: not found' >&2; exit 1")
    with pytest.raises(_command._Missing, match=r"jar was not found.*--jars.*unresolved dependency"):
        _command._jars(machine.spark, None)
    machine.program(
        submit,
        f'printf "%s\\n" "$@" >> {machine.here}/submitted; echo "file://{jars[0]},file:{jars[1]}"',
    )
    for jar in jars:
        jar.touch()
    for _ in range(2):
        assert _command._jars(machine.spark, None) == list(map(str, jars))
    submitted = (machine.here / "submitted").read_text().splitlines()
    assert submitted.count("--packages") == 1
    assert submitted[-4:] == ["--class", MAIN, "spark-internal", "jars-of-submit"]
    jars[0].unlink()
    _command._jars(machine.spark, None)
    assert (machine.here / "submitted").read_text().count("--packages") == 2


def test_what_is_missing_is_named(machine: Machine) -> None:
    def refused(*arguments: str, **environment: str) -> str:
        done = machine.run("x", *arguments, **environment)
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    assert "no such jar: nowhere.jar. The command needs the connector's jar" in refused("--jars", "nowhere.jar")
    assert f"JAVA_HOME is {machine.here}, which has no bin/java" in refused(JAVA_HOME=str(machine.here))
    (machine.here / "other/bin").mkdir(parents=True)
    (machine.here / "other/bin/java").write_text("no program")
    (machine.spark / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar").touch()
    assert "other/bin/java cannot be run: " in refused(JAVA_HOME=str(machine.here / "other"))
    assert "Java was not found" in refused(JAVA_HOME="", PATH=str(machine.here))
    assert f"{machine.here} has no folder jars" in refused(SPARK_HOME=str(machine.here))


def test_the_archive_of_classes(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = machine.spark / "jars" / "dynamic-kafka-spark-4.2_2.13-1.jar"
    jar.touch()
    java = machine.here / "java/bin/java"
    # The Java that makes the archive writes it; the file of the arguments is that of the command itself.
    machine.program(
        java,
        'for a in "$@"; do case "$a" in -XX:ArchiveClassesAtExit=*) echo classes > "${a#*=}"; exit;; esac; done; '
        f'printf "%s\\n" "$@" > {machine.here}/arguments',
    )
    monkeypatch.setattr(_command, "_ARCHIVE", _command._ARCHIVE.replace("sleep(5)", "sleep(0)"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(machine.cache))
    class_path = ["-cp", str(machine.spark / "jars" / "*"), MAIN]
    assert _command._archive(str(java), class_path) == []
    deadline = time.monotonic() + 60
    while not (found := _command._archive(str(java), class_path)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (archive,) = machine.cache.glob("dynamic-kafka/*.jsa")
    assert found == [f"-XX:SharedArchiveFile={archive}"]
    # Another jar, another archive. The last used ones stay; what a process that was killed has left goes.
    folder = archive.parent
    others = [folder / f"{n}.jsa" for n in range(6)]
    left = [folder / "0.jsa.lock", folder / "0.jsa.4711"]
    for n, path in enumerate([*others, *left]):
        path.touch()
        os.utime(path, (n, n))
    os.utime(archive, (2.5, 2.5))
    assert _command._archive(str(java), class_path) == found
    os.utime(jar, (1, 1))
    assert _command._archive(str(java), class_path) == []
    assert _command._archive(str(java), class_path) == []
    deadline = time.monotonic() + 60
    while any(path.exists() for path in (*others[:4], *left)) or list(folder.glob("*.lock")):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert set(others[4:]) | {archive} < set(folder.iterdir())
    assert len(list(folder.iterdir())) == 4
    # A lock that is left does not prevent the next archive.
    (new,) = set(folder.iterdir()) - set(others) - {archive}
    new.unlink()
    lock = folder / f"{new.name}.lock"
    lock.touch()
    assert _command._archive(str(java), class_path) == []
    assert not new.exists()
    os.utime(lock, (1, 1))
    assert _command._archive(str(java), class_path) == []
    while not new.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    # A cache that cannot be written is no error.
    monkeypatch.setenv("XDG_CACHE_HOME", str(jar))
    assert _command._archive(str(java), class_path) == []


def test_the_version_of_pyspark_decides(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pyspark, "__version__", "2.4.0")
    with pytest.raises(SystemExit) as e:
        _command.main(["streams"])
    assert e.value.code == 1
    assert "UNSUPPORTED_SPARK" in capfd.readouterr().err
