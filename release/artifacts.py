"""What is wrong with the artifacts of a build, as one line for each fault."""

from __future__ import annotations

import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path
from xml.etree import ElementTree

_POM = "{http://maven.apache.org/POM/4.0.0}"
# Maven Central refuses an artifact without one of these.
_REQUIRED = (
    *("name", "description", "url", "licenses/license/name", "licenses/license/url"),
    *("developers/developer/name", "scm/url", "scm/connection", "properties/info.versionScheme"),
)
GROUP = "io.github.dynamickafka"
NAMES = ("dynamic-kafka-spark", "dynamic-kafka-openlineage")


def jar_of(repository: Path, artifact: str, version: str) -> Path:
    """The jar of classes of an artifact in a Maven repository."""
    return repository.joinpath(*GROUP.split("."), artifact, version, f"{artifact}-{version}.jar")


def maven_faults(repository: Path, lines: list[str], version: str, snapshot: bool) -> list[str]:
    """Faults of the jars and POMs of all lines."""
    found = []
    for line in lines:
        for name in NAMES:
            artifact = f"{name}-{line}_2.13"
            jar = jar_of(repository, artifact, version)
            folder = jar.parent
            wanted = {f"{artifact}-{version}{kind}" for kind in (".jar", "-sources.jar", "-javadoc.jar", ".pom")}
            present = {file.name for file in folder.glob("*") if file.suffix in (".jar", ".pom")}
            found += [f"{artifact}: no file {file}" for file in sorted(wanted - present)]
            found += [f"{artifact}: {file} is not to be published" for file in sorted(present - wanted)]
            pom = jar.with_suffix(".pom")
            if pom.is_file():
                found += [f"{artifact}: {fault}" for fault in pom_faults(pom.read_text(), version, snapshot)]
            if jar.is_file():
                found += [f"{artifact}: {fault}" for fault in jar_faults(jar)]
    return found


def pom_faults(text: str, version: str, snapshot: bool) -> list[str]:
    """Faults of a POM."""
    root = ElementTree.fromstring(text)

    def texts(path: str) -> list[str]:
        return [each.text or "" for each in root.findall("/".join(_POM + name for name in path.split("/")))]

    found = [f"the POM has no {path}" for path in _REQUIRED if not any(texts(path))]
    if texts("groupId") != [GROUP] or texts("version") != [version]:
        found.append(f"the POM has the coordinates {texts('groupId')}, {texts('version')}")
    for dependency in root.iter(f"{_POM}dependency"):
        of = {child.tag.removeprefix(_POM): child.text or "" for child in dependency}
        if not of.get("version"):
            found.append(f"the POM has no version of {of['artifactId']}")
        elif of["version"].endswith("-SNAPSHOT") and not snapshot:
            found.append(f"the POM depends on {of['artifactId']} {of['version']}")
    return found


def jar_faults(jar: Path) -> list[str]:
    """Faults of the jar of classes."""
    with zipfile.ZipFile(jar) as opened:
        names = opened.namelist()
    found = [
        f"the jar has no META-INF/{name}" for name in ("LICENSE", "NOTICE") if f"META-INF/{name}" not in names
    ]
    if not any(name.endswith(".class") for name in names):
        found.append("the jar has no class")
    return found + [f"the jar has {name}" for name in names if "Suite" in name or "testkit" in name]


def python_faults(folder: Path, version: str) -> list[str]:
    """Faults of the wheel and the sdist. The version is that of Python, such as 0.1.0.dev0."""
    wheel = folder / f"dynamic_kafka-{version}-py3-none-any.whl"
    sdist = folder / f"dynamic_kafka-{version}.tar.gz"
    found = [f"no file {file.name}" for file in (wheel, sdist) if not file.is_file()]
    if wheel.is_file():
        with zipfile.ZipFile(wheel) as opened:
            names = opened.namelist()
            metadata = opened.read(f"dynamic_kafka-{version}.dist-info/METADATA").decode()
        found += [f"the wheel has no {name}" for name in _wheel_needs(version) if name not in names]
        found += [f"the wheel: {fault}" for fault in metadata_faults(metadata, version)]
    if sdist.is_file():
        with tarfile.open(sdist) as archive:
            names = archive.getnames()
            read = archive.extractfile(f"dynamic_kafka-{version}/PKG-INFO")
            metadata = read.read().decode() if read else ""
        found += [f"the sdist has {name}" for name in names if "/tests/" in name]
        found += [f"the sdist: {fault}" for fault in metadata_faults(metadata, version)]
    return found


def _wheel_needs(version: str) -> list[str]:
    info = f"dynamic_kafka-{version}.dist-info"
    return ["dynamic_kafka/py.typed", "dynamic_kafka/_version.py", f"{info}/licenses/LICENSE"]


def metadata_faults(text: str, version: str) -> list[str]:
    """Faults of the metadata of a Python package."""
    fields = Parser().parsestr(text)
    wanted = {"Name": "dynamic-kafka", "Version": version, "License-Expression": "Apache-2.0"}
    found = [f"{name} is {fields[name]!r}" for name, value in wanted.items() if fields[name] != value]
    needed = ("Summary", "Requires-Python", "Description-Content-Type")
    found += [f"{name} is missing" for name in needed if not fields[name]]
    if not str(fields.get_payload()).strip():
        found.append("the description is empty")
    return found


def differences(first: Path, second: Path) -> list[str]:
    """Files that two builds do not have in common, byte for byte. What Maven itself writes has times."""

    def files(folder: Path) -> dict[str, bytes]:
        kinds = (".jar", ".pom", ".whl", ".tar.gz")
        found = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name.endswith(kinds)]
        return {str(path.relative_to(folder)): path.read_bytes() for path in found}

    one, other = files(first), files(second)
    return [
        f"{name} differs between two builds"
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]
