"""The connector by its Maven coordinates, from a local Maven repository."""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyspark
import pytest
from dynamic_kafka._version import JAR_VERSION

from tests.harness.orders import Orders

from .home import COORDINATE, ROOT, conf, environment, published, run

JOB = Path(__file__).with_name("job.py")
BIN = Path(sys.executable).parent
LINE = re.findall(r"spark-([\d.]+)_", COORDINATE)[0]
# The expected dependencies, in the versions that Spark itself is built with, but for Kafka's client.
COMMONS_POOL = {"4.0": "2.12.0", "4.1": "2.12.1", "4.2": "2.13.1"}
ALONG = {
    f"dynamic-kafka-spark-{LINE}_2.13": JAR_VERSION,
    "spark-sql-kafka-0-10_2.13": pyspark.__version__,
    "spark-token-provider-kafka-0-10_2.13": "4.0.0",
    "kafka-clients": "3.9.2",
    "commons-pool2": COMMONS_POOL[LINE],
}
# Why these classes are in packages of Spark: docs/dev/decisions/0009-one-class-in-sparks-package.md.
OURS = (
    "io/github/dynamickafka/",
    "org/apache/spark/DynamicKafkaFailure",
    "org/apache/spark/metrics/source/DynamicKafkaGauges",
    "org/apache/spark/rpc/DynamicKafkaEndpoint",
    "org/apache/spark/sql/avro/DynamicKafkaAvro",
    "org/apache/spark/sql/DynamicKafkaForeach",
    "org/apache/spark/sql/DynamicKafkaQueries",
    "org/apache/spark/kafka010/DynamicKafkaTokens",
)


def along(more: dict[str, str]) -> list[str]:
    """The ends of the names of the resolved jars, which begin with the group."""
    return sorted(f"{name}-{version}.jar" for name, version in (ALONG | more).items())


def check(printed: str, orders: Orders, **more: str) -> None:
    """Check that both queries read all records, with these jars and no others."""
    line = next(line for line in printed.splitlines() if line.startswith('{"batch"'))
    seen: dict[str, Any] = json.loads(line)
    assert seen["batch"] == orders.expected
    assert seen["stream"] == orders.expected
    wanted = along({name.replace("_", "-"): version for name, version in more.items()})
    assert sorted(jar.partition("_")[2] for jar in seen["jars"]) == wanted


@pytest.mark.test_all
def test_spark_submit_packages(orders: Orders, tmp_path: Path) -> None:
    command = [str(BIN / "spark-submit"), "--master", "local[2]", "--packages", COORDINATE, *conf(tmp_path)]
    printed = run([*command, str(JOB), str(orders.streams)], tmp_path, environment())
    check(printed, orders)


@pytest.mark.test_all
def test_pyspark_packages(orders: Orders, tmp_path: Path) -> None:
    command = [str(BIN / "pyspark"), "--master", "local[2]", "--packages", COORDINATE, *conf(tmp_path)]
    script = f"import sys; sys.path.insert(0, {str(JOB.parent)!r}); import job\n"
    script += f"print(job.by_options(spark, {str(orders.streams)!r}))\n"
    # Without a terminal as its input, the shell needs this to be interactive.
    env = environment(PYSPARK_DRIVER_PYTHON_OPTS="-i")
    check(run(command, tmp_path, env, script), orders)


@pytest.mark.test_all
def test_configure_appends_to_the_packages_of_the_session(orders: Orders, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "".join(f"{c.replace('=', ' ', 1)}\n" for c in conf(tmp_path) if "=" in c)
    )
    command = [sys.executable, str(JOB), str(orders.streams), "commons-cli:commons-cli:1.9.0"]
    printed = run(command, tmp_path, environment(SPARK_CONF_DIR=str(tmp_path)))
    check(printed, orders, commons_cli="1.9.0")


def test_the_published_jar_holds_the_connector_and_nothing_else() -> None:
    _, artifact, version = COORDINATE.split(":")
    names = zipfile.ZipFile(published() / f"{artifact}-{version}.jar").namelist()
    files = {name for name in names if not name.endswith("/")}
    assert {name for name in files if not name.startswith(OURS)} == {
        "META-INF/LICENSE",
        "META-INF/MANIFEST.MF",
        "META-INF/NOTICE",
        "META-INF/licenses/uPlot.txt",
        "META-INF/services/io.github.dynamickafka.catalog.CatalogProcedures",
        "META-INF/services/io.github.dynamickafka.format.KafkaSerdes",
        "META-INF/services/io.github.dynamickafka.metadata.service.ServiceConstructors",
        "META-INF/services/io.github.dynamickafka.page.DriverPage",
        "META-INF/services/io.github.dynamickafka.schemaregistry.RegistrySecurity",
        "META-INF/services/org.apache.spark.sql.sources.DataSourceRegister",
        "error/dynamic-kafka-error-conditions.json",
    }
    assert not [name for name in files if "Suite" in name or "testkit" in name]


def test_the_published_artifact_names_developers_and_license() -> None:
    _, artifact, version = COORDINATE.split(":")
    with zipfile.ZipFile(published() / f"{artifact}-{version}.jar") as jar:
        for name in ("LICENSE", "NOTICE"):
            assert jar.read(f"META-INF/{name}") == (ROOT / name).read_bytes()
    pom = ElementTree.parse(published() / f"{artifact}-{version}.pom")

    def texts(path: str) -> list[str | None]:
        path = "/".join(f"{{http://maven.apache.org/POM/4.0.0}}{name}" for name in path.split("/"))
        return [found.text for found in pom.findall(path)]

    assert texts("licenses/license/name") == ["Apache-2.0"]
    assert texts("developers/developer/id") == ["dynamickafka"]
    [home] = texts("url")
    assert home is not None and home.startswith("https://")
    assert texts("scm/url") == [home]
    assert texts("scm/connection") == [f"scm:git:{home}.git"]
