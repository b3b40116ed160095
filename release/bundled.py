"""Files of other projects that a jar contains. They are no dependency of its POM, but part of its bill of materials."""

from __future__ import annotations

import hashlib
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from release.sbom import Component, spdx

_LICENSES = "META-INF/licenses/"


@dataclass(frozen=True)
class Bundled:
    """Where the files of a project lie in the jar. The first file starts with the version, `(v1.2.3)`."""

    name: str
    package: str
    files: tuple[str, ...]

    @property
    def license_file(self) -> str:
        """The text of the license, which the jar contains as well."""
        return f"{_LICENSES}{self.name}.txt"


_PAGE = "io/github/dynamickafka/page"
BUNDLED = (Bundled("uPlot", "uplot", (f"{_PAGE}/uPlot.iife.min.js", f"{_PAGE}/uPlot.min.css")),)


def bundled(jar: Path, known: tuple[Bundled, ...] = BUNDLED) -> tuple[list[Component], list[str]]:
    """The projects whose files the jar contains, and what is wrong with them."""
    with zipfile.ZipFile(jar) as opened:
        names = set(opened.namelist())
        held = [each for each in known if names & {*each.files, each.license_file}]
        named = {name for each in held for name in (*each.files, each.license_file)}
        faults = [f"the jar has no {name}" for name in sorted(named - names)]
        # The files of a project arrive minified; own files are not.
        foreign = (name for name in sorted(names - named) if ".min." in name or re.match(f"{_LICENSES}.", name))
        faults += [f"the jar has {name}, which release/bundled.py does not list" for name in foreign]
        if faults:
            return [], faults
        notice = opened.read("META-INF/NOTICE").decode() if "META-INF/NOTICE" in names else ""
        components = [_component(opened, each) for each in held]
    for each in components:
        if f"{each.name} {each.version} " not in notice:
            faults.append(f"META-INF/NOTICE does not name {each.name} {each.version}")
    return components, faults


def _component(jar: zipfile.ZipFile, of: Bundled) -> Component:
    first = jar.read(of.files[0])
    version = re.search(rb"\(v([\d.]+)\)", first[:200])
    if version is None:
        raise ValueError(f"{of.files[0]} does not start with its version")
    license = spdx(jar.read(of.license_file).decode().strip().splitlines()[0])
    digest = hashlib.sha256(first).hexdigest()
    return Component(
        "", of.name, version[1].decode(), license, digest, f"pkg:npm/{of.package}@{version[1].decode()}"
    )
