"""Finds jars that Spark's resolution of packages would miss, in the local repositories of Maven and Ivy."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dynamic_kafka import _artifact

# The modules that Spark adds with the connector, in a POM.
_ALONG = re.compile(
    r"<groupId>([^<]+)</groupId>\s*"
    r"<artifactId>((?:spark-sql-kafka-0-10|spark-token-provider-kafka-0-10|kafka-clients|commons-pool2)(?:_[^<]+)?)"
    r"</artifactId>\s*<version>([^<]+)</version>"
)


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
    ivy = Path(_setting(options, "spark.jars.ivy") or _property("ivy.home") or home / ".ivy2.5.2") / "cache"
    modules, checked = [coordinate], set()
    for module in modules:
        group, artifact, version = module.split(":")
        if artifact in checked:
            continue
        checked.add(artifact)
        folder = home.joinpath(".m2/repository", *group.split("."), artifact, version)
        cached = ivy / group / artifact
        jar, pom = (folder / f"{artifact}-{version}.{kind}" for kind in ("jar", "pom"))
        found = [folder] if pom.is_file() else []
        # Where Ivy has found the module, by Spark's name of the repository.
        if "\nresolver=local-m2-cache\n" in _text(cached / f"ivydata-{version}.properties"):
            found.append(cached)
        if found and not jar.is_file() and not (cached / "jars" / jar.name).is_file():
            from dynamic_kafka import errors

            raise errors.repository_incomplete(module, jar, found, is_connector=module == coordinate)
        # At the end of the list, because the version that is nearest to the connector is chosen.
        modules += map(":".join, _ALONG.findall(_text(pom) or _text(cached / f"ivy-{version}.xml.original")))


def _property(name: str) -> str:
    """A property of the JVM that is about to be started, or an empty text."""
    variables = ("SPARK_SUBMIT_OPTS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
    given = " ".join(os.environ.get(variable, "") for variable in variables)
    return str(["", *re.findall(rf"-D{re.escape(name)}=(\S+)", given)][-1])


def _setting(options: Mapping[str, object], name: str) -> str:
    """A setting of the session, of ``PYSPARK_SUBMIT_ARGS``, or of spark-defaults.conf, or an empty text."""
    spark = Path(os.environ.get("SPARK_HOME") or _artifact.pyspark_folder())
    defaults = _text(Path(os.environ.get("SPARK_CONF_DIR") or spark / "conf") / "spark-defaults.conf")
    given = f"{os.environ.get('PYSPARK_SUBMIT_ARGS', '')}\n{defaults}"
    found = re.search(rf"^(?:[^#\n]*\s)?{re.escape(name)}[\s=]+(\S+)", given, re.MULTILINE)
    return str(options.get(name) or (found[1] if found else ""))


def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace") if path.is_file() else ""
