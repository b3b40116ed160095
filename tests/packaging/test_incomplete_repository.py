"""A local repository that has the POM of a module, and not its jar."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .home import COORDINATE, PUBLISHED, conf, environment, published, run

CLIENT = ("org.apache.kafka", "kafka-clients", "3.9.2")
POM = """
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{}</groupId>
  <artifactId>{}</artifactId>
  <version>{}</version>
</project>
"""
SCRIPT = """
import sys
from dynamic_kafka import DynamicKafka, DynamicKafkaError
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]")
if sys.argv[1:]:
    builder.config("spark.jars.packages", sys.argv[1])
else:
    try:
        DynamicKafka.configure(builder)
    except DynamicKafkaError as e:
        print(e.getMessageParameters()["jar"], e.getMessageParameters()["folders"], sep="\\n")
        sys.exit()
print(builder.getOrCreate().range(3).count())
"""


@pytest.mark.test_all
@pytest.mark.timeout(1200)
def test_a_pom_without_its_jar(tmp_path: Path) -> None:
    """Spark fails; ``configure`` names the file and the folders, and without them the session starts."""
    group, artifact, version = CLIENT
    home = tmp_path / "home"
    folder = home / ".m2/repository" / group.replace(".", "/") / artifact / version
    folder.mkdir(parents=True)
    (folder / f"{artifact}-{version}.pom").write_text(POM.format(*CLIENT))
    shutil.copytree(published(), home / published().relative_to(PUBLISHED))
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{c.replace('=', ' ', 1)}\n" for c in conf(tmp_path) if "=" in c)
    )
    env = environment(SPARK_SUBMIT_OPTS=f"-Duser.home={home}", SPARK_CONF_DIR=str(tmp_path))
    script = [sys.executable, "-c", SCRIPT]
    jar = str(folder / f"{artifact}-{version}.jar")

    assert run(script, tmp_path, env).splitlines() == [jar, str(folder)]
    done = subprocess.run(
        [*script, COORDINATE], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "JAVA_GATEWAY_EXITED" in done.stderr
    assert jar in done.stderr

    # Ivy has stored where it has found the POM.
    cached = tmp_path / "ivy" / "cache" / group / artifact
    assert run(script, tmp_path, env).splitlines() == [jar, f"{folder} and {cached}"]
    shutil.rmtree(folder)
    assert run(script, tmp_path, env).splitlines() == [jar, str(cached)]
    shutil.rmtree(cached)
    assert run(script, tmp_path, env).split() == ["3"]
