"""Finds jars that Spark's resolution of packages would miss, in the local repositories of Maven and Ivy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from dynamic_kafka import _artifact

_POM = "{http://maven.apache.org/POM/4.0.0}"
# The modules that Spark adds with the connector, without the version of Scala.
_ALONG = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
_JAVA_OPTIONS = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")


def check(coordinate: str, options: Mapping[str, object]) -> None:
    """Fails if the jar of the connector, or of a module that it depends on, is missing where its POM is.

    Maven keeps the POM of each version that it has considered, and the jar only of the chosen one. Ivy looks for a
    jar only where it has found the POM, so that Spark's JVM would end, with JAVA_GATEWAY_EXITED in Python.

    Args:
        coordinate: The connector.
        options: The options of the session's builder.

    Raises:
        DynamicKafkaError: REPOSITORY_INCOMPLETE.
    """
    if _setting(options, "spark.jars.ivySettings"):
        return
    home = Path(_property("user.home") or Path.home())
    maven = home / ".m2" / "repository"
    ivy = Path(_setting(options, "spark.jars.ivy") or _property("ivy.home") or home / ".ivy2.5.2") / "cache"
    versions = dict([coordinate.rsplit(":", 1)])
    left = list(versions)
    while left:
        name = left.pop(0)
        (group, artifact), version = name.split(":"), versions[name]
        folder = maven / group.replace(".", "/") / artifact / version
        cached = ivy / group / artifact
        jar = folder / f"{artifact}-{version}.jar"
        found = [folder] if jar.with_suffix(".pom").is_file() else []
        if _is_of_maven(cached / f"ivydata-{version}.properties"):
            found.append(cached)
        if found and not jar.is_file() and not (cached / "jars" / jar.name).is_file():
            from dynamic_kafka import errors

            module = f"{name}:{version}"
            raise errors.repository_incomplete(module, jar, found, is_connector=module == coordinate)
        poms = (jar.with_suffix(".pom"), cached / f"ivy-{version}.xml.original")
        for pom in [pom for pom in poms if pom.is_file()][:1]:
            # The version that is nearest to the connector is chosen.
            new = {name: version for name, version in _dependencies(pom) if name not in versions}
            versions |= new
            left += new


def _dependencies(pom: Path) -> Iterator[tuple[str, str]]:
    """Group and artifact, and the version, of the modules whose jars are needed."""
    try:
        found = ElementTree.parse(pom)
    except (OSError, ElementTree.ParseError):
        # Spark says what is wrong with a file that was cut off.
        return
    for dependency in found.iterfind(f"{_POM}dependencies/{_POM}dependency"):
        group, artifact, version = (
            dependency.findtext(f"{_POM}{name}", "") for name in ("groupId", "artifactId", "version")
        )
        if version and artifact.partition("_")[0] in _ALONG:
            yield f"{group}:{artifact}", version


def _is_of_maven(data: Path) -> bool:
    """Whether Ivy has found a module in the local repository of Maven, by its name in Spark."""
    return data.is_file() and "\nresolver=local-m2-cache\n" in data.read_text("utf-8").replace("\r\n", "\n")


def _property(name: str) -> str | None:
    """A property of the JVM that is about to be started."""
    given = " ".join(os.environ.get(variable, "") for variable in _JAVA_OPTIONS)
    found = re.findall(rf"-D{re.escape(name)}=(\S+)", given)
    return found[-1] if found else None


def _setting(options: Mapping[str, object], name: str) -> str | None:
    """A setting of the session, of ``PYSPARK_SUBMIT_ARGS``, or of spark-defaults.conf."""
    if options.get(name):
        return str(options[name])
    spark = Path(os.environ.get("SPARK_HOME") or _artifact.pyspark_folder())
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or spark / "conf") / "spark-defaults.conf"
    value = rf"{re.escape(name)}[\s=]+(\S+)"
    found = re.search(rf"(?:^|\s){value}", os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    if not found and defaults.is_file():
        found = re.search(rf"^\s*{value}", defaults.read_text("utf-8", errors="replace"), re.MULTILINE)
    return found[1] if found else None
