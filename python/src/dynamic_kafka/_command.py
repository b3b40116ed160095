"""Starts the connector's command line: finds Java and the jars, and becomes the Java process."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, urlsplit

from dynamic_kafka import _artifact, _repository

VARIABLE = "DYNAMIC_KAFKA_JARS"

_MAIN = "io.github.dynamickafka.admin.Main"
_FLAGS = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xlog:disable")
_NEEDED = (
    "the connector's jar, spark-sql-kafka-0-10, spark-token-provider-kafka-0-10, kafka-clients and commons-pool2"
)
_CONNECT = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE")
_LINES = 5
_LIMIT_S = 3600

# Makes the archive of classes: after a pause, because it must not delay the command that has just started. Each
# build, environment and Java has an archive of 30 MB. Only the last used ones are kept; Java starts without one
# that is removed meanwhile.
_ARCHIVE = """
import os, pathlib, subprocess, sys, time
archive, *command = sys.argv[1:]
made = f"{archive}.{os.getpid()}"
try:
    os.nice(10)
    time.sleep(5)
    subprocess.run([command[0], f"-XX:ArchiveClassesAtExit={made}", *command[1:]], timeout=300)
    os.replace(made, archive)
    folder = pathlib.Path(archive).parent
    archives = sorted(folder.glob("*.jsa"), key=os.path.getmtime)
    left = [path for path in folder.glob("*.jsa.*") if time.time() - os.path.getmtime(path) > 3600]
    for path in (*archives[:-4], *left):
        path.unlink(missing_ok=True)
finally:
    pathlib.Path(made).unlink(missing_ok=True)
    pathlib.Path(f"{archive}.lock").unlink(missing_ok=True)
"""


class _Missing(RuntimeError):
    """Something that a command needs is missing. The message says what to do."""


def main(arguments: Sequence[str]) -> NoReturn:
    """Runs a command, and exits as it does: with 1 if Java or a jar is missing."""
    try:
        java, home = _java(), _spark_home()
        classes = [*_conf_folders(), *_jars(home, _given(arguments)), str(home / "jars" / "*")]
    except (RuntimeError, OSError) as e:  # A DynamicKafkaError is a RuntimeError; its class is in PySpark.
        print(e, file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:  # While spark-submit fetches the jars.
        sys.exit(130)
    os.environ.setdefault("SPARK_HOME", str(home))
    class_path = ["-cp", os.pathsep.join(classes), _MAIN]
    archive = _archive(java, class_path)
    # Java would say on standard error that it has picked them up.
    options = shlex.split(os.environ.pop("JDK_JAVA_OPTIONS", ""))
    command = [java, *options, *_FLAGS, *archive, *class_path, *arguments]
    sys.stdout.flush()
    try:
        if os.name != "posix":
            sys.exit(subprocess.call(command))
        os.execv(java, command)
    except OSError as e:
        print(f"{java} cannot be run: {e.strerror}", file=sys.stderr)
        sys.exit(1)


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    if home:
        found = next(
            (str(path) for name in ("java", "java.exe") if (path := Path(home) / "bin" / name).is_file()), None
        )
        if found is None:
            raise _Missing(f"JAVA_HOME is {home}, which has no bin/java. The command needs Java 17, as Spark does")
        return found
    on_path = shutil.which("java")
    if on_path is None:
        raise _Missing(
            "Java was not found. The command runs the connector's jar, and needs Java 17, as Spark does: install "
            "it, and set JAVA_HOME or PATH"
        )
    return on_path


def _spark_home() -> Path:
    """The folder of Spark: that of the installed PySpark, unless ``SPARK_HOME`` is set."""
    _artifact.spark_line()
    home = Path(os.environ.get("SPARK_HOME") or _artifact.pyspark_folder())
    if not (home / "jars").is_dir():
        raise _Missing(f"{home} has no folder jars. Install PySpark, or set SPARK_HOME to Spark's folder")
    return home


def _conf_folders() -> list[str]:
    """Hadoop's own configuration, as spark-submit takes it."""
    return [folder for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR") if (folder := os.environ.get(name))]


def _given(arguments: Sequence[str]) -> str | None:
    """The value of ``--jars``, which the connector's command line accepts and ignores."""
    for place, argument in enumerate(arguments):
        if argument == "--jars":
            return next(iter(arguments[place + 1 :]), None)
        if argument.startswith("--jars="):
            return argument.partition("=")[2]
    return os.environ.get(VARIABLE)


def _jars(home: Path, given: str | None) -> list[str]:
    """The jars of the connector beside those of Spark.

    Args:
        home: The folder of Spark.
        given: Jars, or folders with jars, separated by commas. None: those of Spark's folder, of a build of the
            repository that contains this package, or else the coordinate that ``DynamicKafka.configure`` uses.
    """
    if given:
        return _expanded(given)
    if any((home / "jars").glob("dynamic-kafka-spark-*.jar")):
        return []
    return _built() or _fetched(home)


def _expanded(listed: str) -> list[str]:
    found: list[str] = []
    for name in filter(None, map(str.strip, listed.split(","))):
        path = Path(name)
        jars = sorted(path.glob("*.jar")) if path.is_dir() else [path]
        if not jars or not all(jar.is_file() for jar in jars):
            raise _Missing(f"no such jar: {name}. The command needs {_NEEDED}")
        found += [str(jar.absolute()) for jar in jars]
    return found


def _built() -> list[str]:
    """The jars of a build, if this package is that of a source tree."""
    package = Path(__file__).resolve().parent
    root = package.parents[2]
    if package != root / "python" / "src" / package.name or not (root / "version.sbt").is_file():
        return []
    target = root / "jvm" / "connector" / "target"
    line = _artifact.spark_line()
    folder = target / "jars" if line == _artifact.SUPPORTED_LINES[0] else target / f"line-{line}" / "jars"
    return [str(jar) for jar in sorted(folder.glob("*.jar"))]


def _fetched(home: Path) -> list[str]:
    """The jars of the coordinate, which spark-submit finds or fetches. Their place is kept."""
    coordinate = _artifact.coordinate(_artifact.spark_line())
    kept = _cache() / f"{coordinate.replace(':', '_')}.jars"
    jars = kept.read_text("utf-8").splitlines() if kept.is_file() else []
    if jars and all(Path(jar).is_file() for jar in jars):
        return jars
    _repository.check(coordinate, {})
    submit = [str(home / "bin" / "spark-submit"), "--master", "local[1]", "--packages", coordinate]
    environment = {name: value for name, value in os.environ.items() if name not in _CONNECT}
    done = subprocess.run(
        [*submit, "--class", _MAIN, "spark-internal", "jars-of-submit"],
        env=environment,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
    )
    jars = [unquote(urlsplit(jar).path) for jar in done.stdout.strip().split(",") if jar]
    if done.returncode != 0 or not jars:
        from dynamic_kafka.errors import PUBLISH

        said = [line.strip() for line in done.stderr.splitlines() if line.strip()][-_LINES:]
        raise _Missing(
            f"The connector's jar was not found. Pass it with --jars or {VARIABLE}: {_NEEDED}; or publish "
            f"{coordinate} where spark-submit finds it: {PUBLISH}. spark-submit says: "
            f"{' / '.join(said)}"
        )
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(jars), "utf-8")
    except OSError:
        pass
    return jars


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dynamic-kafka"


def _archive(java: str, class_path: Sequence[str]) -> list[str]:
    """The flag for the archive of classes, with which Java starts faster, or makes it for the next call."""
    try:
        jars = [file for entry in class_path[1].split(os.pathsep) for file in _files(entry)]
        key = repr(
            [os.path.realpath(java), os.stat(java).st_mtime_ns, *((str(f), f.stat().st_mtime_ns) for f in jars)]
        )
        archive = _cache() / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"
        if archive.is_file():
            with suppress(OSError):
                os.utime(archive)
            return [f"-XX:SharedArchiveFile={archive}"]
        archive.parent.mkdir(parents=True, exist_ok=True)
        # Only one process makes it. A lock may be left from a machine that stopped.
        lock = Path(f"{archive}.lock")
        if lock.is_file() and time.time() - lock.stat().st_mtime > _LIMIT_S:
            lock.unlink(missing_ok=True)
        lock.touch(exist_ok=False)
        subprocess.Popen(
            [sys.executable, "-c", _ARCHIVE, str(archive), java, *_FLAGS, *class_path, "load-classes"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        pass
    return []


def _files(entry: str) -> list[Path]:
    path = Path(entry)
    return sorted(path.parent.glob("*.jar")) if path.name == "*" else [path]
