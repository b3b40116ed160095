"""A bill of materials in CycloneDX's form, and the licenses of what it names."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

# What may be distributed beside a library with the Apache License 2.0.
ALLOWED = ("Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause")
_SPDX = (
    (r"apache.*2(\.0)?", "Apache-2.0"),
    (r"\bmit\b", "MIT"),
    (r"bsd.*2.clause|2.clause.*bsd|simplified bsd", "BSD-2-Clause"),
    (r"bsd.*3.clause|3.clause.*bsd|new bsd|revised bsd", "BSD-3-Clause"),
)
_CACHED = re.compile(r"(?P<root>.*/maven2)/(?P<group>.+)/(?P<name>[^/]+)/(?P<version>[^/]+)/[^/]+\.jar$")


@dataclass(frozen=True)
class Component:
    """A library that an artifact depends on, or contains. `purl` is its address as a package."""

    group: str
    name: str
    version: str
    license: str
    sha256: str
    purl: str


def spdx(name: str) -> str:
    """The identifier of a license, or the name itself."""
    return next((id for pattern, id in _SPDX if re.search(pattern, name, re.IGNORECASE)), name)


def component(jar: Path) -> Component:
    """The library of a jar in the cache of the build, where its POM lies beside it."""
    place = _CACHED.match(str(jar))
    if place is None:
        raise ValueError(f"not a jar of a Maven repository: {jar}")
    group, name, version = place["group"].replace("/", "."), place["name"], place["version"]
    license = _license(Path(place["root"]), group, name, version)
    digest = hashlib.sha256(jar.read_bytes()).hexdigest()
    return Component(group, name, version, license, digest, f"pkg:maven/{group}/{name}@{version}")


def _license(root: Path, group: str, name: str, version: str) -> str:
    """The license in the POM, or in that of its parent."""
    pom = root.joinpath(*group.split("."), name, version, f"{name}-{version}.pom")
    if not pom.is_file():
        return "unknown"
    tree = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]+"', "", pom.read_text(), count=1))
    names = [each.findtext("name") or each.findtext("url") or "" for each in tree.findall("licenses/license")]
    if names:
        return " OR ".join(sorted({spdx(each.strip()) for each in names}))
    parent = tree.find("parent")
    if parent is None:
        return "unknown"
    of = [parent.findtext(part, "").strip() for part in ("groupId", "artifactId", "version")]
    return _license(root, *of)


def license_faults(components: list[Component]) -> list[str]:
    """Libraries none of whose licenses is allowed."""
    return [
        f"{each.purl}: the license {each.license!r} is not among {', '.join(ALLOWED)}"
        for each in components
        if not set(each.license.split(" OR ")) & set(ALLOWED)
    ]


def document(group: str, name: str, version: str, components: list[Component]) -> dict[str, Any]:
    """The bill, without a time or a serial number, so that it is the same for each build."""

    def entry(each: Component) -> dict[str, Any]:
        licenses = each.license.split(" OR ")
        return {
            "type": "library",
            "bom-ref": each.purl,
            **({"group": each.group} if each.group else {}),
            "name": each.name,
            "version": each.version,
            "hashes": [{"alg": "SHA-256", "content": each.sha256}],
            "licenses": [{"license": {"id" if id in ALLOWED else "name": id}} for id in licenses],
            "purl": each.purl,
        }

    ordered = sorted(components, key=lambda each: each.purl)
    own = f"pkg:maven/{group}/{name}@{version}"
    described = {"type": "library", "bom-ref": own, "group": group, "name": name, "version": version, "purl": own}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": described | {"licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [entry(each) for each in ordered],
        "dependencies": [{"ref": own, "dependsOn": [each.purl for each in ordered]}],
    }
