"""Projects of users: the blocks of docs/installing.md for sbt and Maven, in projects of their own."""

from __future__ import annotations

import os
import re
import shutil
import tarfile
from pathlib import Path

import pyspark
import pytest

from .home import PUBLISHED, ROOT, published, run

PAGE = (ROOT / "docs" / "installing.md").read_text()
REPOSITORY = PUBLISHED / ".m2" / "repository"
JARS = Path(pyspark.__file__).with_name("jars")
POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>local</groupId>
  <artifactId>local</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
{}  </dependencies>
</project>
"""
JAVA = """
import io.github.dynamickafka.DynamicKafka;
import org.apache.spark.sql.SparkSession;

class Read {
  Object read(SparkSession spark) {
    return DynamicKafka.builder(spark).setStreamIds(java.util.List.of("orders")).load();
  }
}
"""


def block(language: str, part: str) -> str:
    """The block of the page in this language that contains the part."""
    (found,) = [
        text for text in re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL) if part in text
    ]
    return str(found)


@pytest.mark.test_all
def test_sbt(tmp_path: Path) -> None:
    published()
    (tmp_path / "build.sbt").write_text(block("text", "libraryDependencies"))
    (tmp_path / "project").mkdir()
    shutil.copy(ROOT / "project" / "build.properties", tmp_path / "project")
    shutil.copy(ROOT / "sbt", tmp_path)
    sources = tmp_path / "src" / "main" / "scala"
    sources.mkdir(parents=True)
    shutil.copy(ROOT / "examples" / "Quickstart.scala", sources)
    run(["./sbt", f"-Dmaven.repo.local={REPOSITORY}", "compile"], tmp_path, os.environ)
    assert list(tmp_path.glob("target/scala-*/classes/Quickstart.class"))


@pytest.mark.test_all
def test_maven(tmp_path: Path) -> None:
    published()
    (tmp_path / "pom.xml").write_text(POM.format(block("xml", "dynamic-kafka")))
    sources = tmp_path / "src" / "main" / "java"
    sources.mkdir(parents=True)
    (sources / "Read.java").write_text(JAVA)
    maven = [str(_maven(tmp_path)), "--batch-mode", "--quiet", f"-Dmaven.repo.local={tmp_path}/repository"]
    run([*maven, f"-Dmaven.repo.local.tail={REPOSITORY}", "compile"], tmp_path, os.environ)
    assert (tmp_path / "target" / "classes" / "Read.class").exists()


def _maven(folder: Path) -> Path:
    """Maven's command. Ivy, one of PySpark's jars, fetches it, since a machine may not have it."""
    (ivy,) = JARS.glob("ivy-*.jar")
    fetch = ["java", "-cp", str(ivy), "org.apache.ivy.Main", "-warn", "-cache", str(folder / "ivy"), "-ivy"]
    run([*fetch, str(Path(__file__).with_name("ivy.xml")), "-retrieve", "[artifact].[ext]"], folder, os.environ)
    with tarfile.open(folder / "apache-maven.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    (home,) = folder.glob("apache-maven-*/")
    return home / "bin" / "mvn"
