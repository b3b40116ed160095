from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyspark
import pytest
from conftest import REPOSITORY
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dynamic_kafka import DynamicKafka, DynamicKafkaError, _artifact
from dynamic_kafka._version import JAR_VERSION
from dynamic_kafka.errors import PUBLISH

OURS = f"io.github.dynamickafka:dynamic-kafka-spark-{_artifact.spark_line()}_2.13:{JAR_VERSION}"


@pytest.fixture(autouse=True)
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The state of a new Python process, whatever ran before in this one."""
    monkeypatch.setattr(SparkContext, "_gateway", None)
    yield


def configured(builder: SparkSession.Builder) -> dict[str, str]:
    return {key: builder._options[key] for key in builder._options if key.startswith("spark.jars")}


def test_adds_the_artifact_of_the_line() -> None:
    builder = SparkSession.Builder()
    assert DynamicKafka.configure(builder) is builder
    assert configured(builder) == {"spark.jars.packages": OURS}


def test_appends_and_does_so_once() -> None:
    builder = SparkSession.Builder().config("spark.jars.packages", "a:b:1, c:d:2")
    for _ in range(2):
        DynamicKafka.configure(builder, extra_packages=["e:f:3", "a:b:1"])
    assert configured(builder) == {"spark.jars.packages": f"a:b:1,c:d:2,{OURS},e:f:3"}


def test_local_jars_replace_the_artifact(tmp_path: Path) -> None:
    jars = [tmp_path / "connector.jar", tmp_path / "kafka-clients.jar"]
    for jar in jars:
        jar.touch()
    builder = SparkSession.Builder().config("spark.jars", "/opt/other.jar")
    for _ in range(2):
        DynamicKafka.configure(builder, jars=jars)
    assert configured(builder) == {"spark.jars": f"/opt/other.jar,{jars[0]},{jars[1]}"}


def test_a_missing_jar(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such jar: .*missing\.jar"):
        DynamicKafka.configure(SparkSession.Builder(), jars=[tmp_path / "missing.jar"])
    with pytest.raises(ValueError, match="jars is empty"):
        DynamicKafka.configure(SparkSession.Builder(), jars=[])


def test_a_pyspark_of_another_line_names_the_supported_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for version in ("3.5.6", "4.4.0", "5.0.0"):
        monkeypatch.setattr(pyspark, "__version__", version)
        supported = rf"PySpark {version} is installed.* supports Spark 4\.0, 4\.1, 4\.2, 4\.3\."
        with pytest.raises(DynamicKafkaError, match=supported) as error:
            DynamicKafka.configure(SparkSession.Builder())
        assert error.value.getCondition() == "DYNAMIC_KAFKA.UNSUPPORTED_SPARK"


@pytest.mark.parametrize(
    ("version", "line"),
    [("4.0.0", "4.0"), ("4.0.4", "4.0"), ("4.1.3", "4.1"), ("4.2.0", "4.2"), ("4.3.0", "4.2")],
)
def test_the_artifact_is_that_of_pyspark(monkeypatch: pytest.MonkeyPatch, version: str, line: str) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    builder = DynamicKafka.configure(SparkSession.Builder())
    ours = f"io.github.dynamickafka:dynamic-kafka-spark-{line}_2.13:{JAR_VERSION}"
    assert configured(builder) == {"spark.jars.packages": ours}


POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <dependencies>
    <dependency>
      <groupId>org.scala-lang</groupId><artifactId>scala-library</artifactId><version>2.13.18</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>3.9.2</version>
    </dependency>
    <dependency>
      <groupId>org.apache.spark</groupId><artifactId>spark-sql-kafka-0-10_2.13</artifactId><version>4</version>
    </dependency>
  </dependencies>
</project>
"""
POM_OF_SPARK = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-clients</artifactId><version>3.9.0</version>
    </dependency>
    <dependency>
      <groupId>org.apache.commons</groupId><artifactId>commons-pool2</artifactId><version>2.13.1</version>
    </dependency>
  </dependencies>
</project>
"""


def stored(home: Path, coordinate: str, pom: str = POM, jar: bool = False) -> Path:
    """The folder of a module in Maven's local repository, with its POM."""
    group, artifact, version = coordinate.split(":")
    folder = home / ".m2" / "repository" / group.replace(".", "/") / artifact / version
    folder.mkdir(parents=True)
    (folder / f"{artifact}-{version}.pom").write_text(pom)
    if jar:
        (folder / f"{artifact}-{version}.jar").touch()
    return folder


def incomplete() -> DynamicKafkaError:
    with pytest.raises(DynamicKafkaError) as error:
        DynamicKafka.configure(SparkSession.Builder())
    assert error.value.getCondition() == "DYNAMIC_KAFKA.REPOSITORY_INCOMPLETE"
    return error.value


def test_a_pom_without_its_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the jar, and the folders that have the POM; a jar in Ivy's cache suffices."""
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Duser.home={tmp_path}")
    stored(tmp_path, OURS, jar=True)
    stored(tmp_path, "org.apache.spark:spark-sql-kafka-0-10_2.13:4", POM_OF_SPARK, jar=True)
    # Spark has the first one, and needs of the other one the POM alone.
    for unused in ("org.scala-lang:scala-library:2.13.18", "org.apache.kafka:kafka-clients:3.9.0"):
        stored(tmp_path, unused)
    DynamicKafka.configure(SparkSession.Builder())
    pool = stored(tmp_path, "org.apache.commons:commons-pool2:2.13.1")
    assert incomplete().getMessageParameters()["module"] == "org.apache.commons:commons-pool2:2.13.1"
    shutil.rmtree(pool)

    folder = stored(tmp_path, "org.apache.kafka:kafka-clients:3.9.2")
    error = incomplete()
    assert error.getMessageParameters()["jar"] == str(folder / "kafka-clients-3.9.2.jar")
    assert error.getMessageParameters()["folders"] == str(folder)
    cached = tmp_path / ".ivy2.5.2" / "cache" / "org.apache.kafka" / "kafka-clients"
    cached.mkdir(parents=True)
    (cached / "ivydata-3.9.2.properties").write_text("#data\nresolver=local-m2-cache\n")
    assert incomplete().getMessageParameters()["folders"] == f"{folder} and {cached}"
    shutil.rmtree(folder)
    assert incomplete().getMessageParameters()["folders"] == str(cached)
    (cached / "jars").mkdir()
    (cached / "jars" / "kafka-clients-3.9.2.jar").touch()
    DynamicKafka.configure(SparkSession.Builder())


def test_the_repositories_are_those_of_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, ivy, conf = tmp_path / "home", tmp_path / "ivy", tmp_path / "conf"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Duser.home={home}")
    monkeypatch.setenv("SPARK_CONF_DIR", str(conf))
    stored(home, OURS, jar=True)
    stored(home, "org.apache.kafka:kafka-clients:3.9.2")
    jars = ivy / "cache" / "org.apache.kafka" / "kafka-clients" / "jars"
    jars.mkdir(parents=True)
    (jars / "kafka-clients-3.9.2.jar").touch()
    incomplete()
    DynamicKafka.configure(SparkSession.Builder().config("spark.jars.ivy", str(ivy)))
    DynamicKafka.configure(SparkSession.Builder().config("spark.jars.ivySettings", "settings.xml"))
    DynamicKafka.configure(SparkSession.Builder(), jars=[jars / "kafka-clients-3.9.2.jar"])
    conf.mkdir()
    (conf / "spark-defaults.conf").write_text(f"# spark.jars.ivy {ivy}\n# spark.jars.ivySettings settings.xml\n")
    incomplete()
    (conf / "spark-defaults.conf").write_text(f"# a comment\nspark.ui.enabled false\nspark.jars.ivy {ivy}\n")
    DynamicKafka.configure(SparkSession.Builder())
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--conf spark.jars.ivy={tmp_path} pyspark-shell")
    incomplete()


def test_a_pom_that_was_cut_off_is_left_to_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Duser.home={tmp_path}")
    stored(tmp_path, OURS, pom=POM[:-20], jar=True)
    DynamicKafka.configure(SparkSession.Builder())


def test_a_connector_without_its_jar_is_published_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", f"-Duser.home={tmp_path}")
    stored(tmp_path, OURS)
    assert str(incomplete()).endswith(f"again: {PUBLISH}.")


def test_connect_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DynamicKafkaError, match=r"DynamicKafka\.configure needs a classic Spark session"):
        DynamicKafka.configure(SparkSession.Builder().config("spark.remote", "sc://localhost"))
    with pytest.raises(DynamicKafkaError, match="CONNECT_UNSUPPORTED"):
        DynamicKafka.configure(SparkSession.Builder().config("spark.api.mode", "connect"))
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    with pytest.raises(DynamicKafkaError, match="CONNECT_UNSUPPORTED"):
        DynamicKafka.configure(SparkSession.Builder())


def test_a_running_jvm_without_the_connector_is_refused(run_python: Callable[[str], str]) -> None:
    shown = run_python(
        """
from pyspark.sql import SparkSession
from dynamic_kafka import DynamicKafka, DynamicKafkaError

def attempt():
    try:
        DynamicKafka.configure(SparkSession.builder, jars=JARS)
        print("accepted")
    except DynamicKafkaError as e:
        print(e)

JARS = None
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
attempt()
session.stop()
attempt()  # The JVM is still running, and accepts no packages.
"""
    )
    first, second = shown.splitlines()
    assert first == second
    assert first.startswith("[DYNAMIC_KAFKA.SESSION_RUNNING]")
    assert OURS in first


def test_a_session_started_with_the_jars_is_accepted(run_python: Callable[[str], str], tmp_path: Path) -> None:
    jar = tmp_path / "connector.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\n")
    shown = run_python(
        f"""
from pyspark.sql import SparkSession
from dynamic_kafka import DynamicKafka, DynamicKafkaError

jars = [{str(jar)!r}]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
DynamicKafka.configure(builder, jars=jars).getOrCreate()
print("jars:", DynamicKafka.configure(SparkSession.builder, jars=jars)._options)
try:
    DynamicKafka.configure(SparkSession.builder, "a:b:1", jars=jars)
except DynamicKafkaError as e:
    print(e.getMessageParameters())
"""
    )
    assert shown.splitlines() == ["jars: {}", "{'missing': 'a:b:1'}"]


def test_the_lines_are_those_of_the_build() -> None:
    lines = (REPOSITORY / "project" / "SparkLines.scala").read_text()
    built = re.findall(r'SparkLine\(\s*(?:minor = )?"([\d.]+)"', lines)
    assert tuple(built) == _artifact.SUPPORTED_LINES
