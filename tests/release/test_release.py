"""What `make release-check` finds wrong in artifacts, and what it writes."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from release import artifacts, sbom
from release.bundled import BUNDLED, Bundled, bundled
from release.notes import notes

POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <groupId>io.github.dynamickafka</groupId><artifactId>a</artifactId><version>0.1.0</version>
  <name>a</name><description>d</description><url>https://x</url>
  <licenses><license><name>Apache-2.0</name><url>https://l</url></license></licenses>
  <developers><developer><name>d</name></developer></developers>
  <scm><url>https://x</url><connection>scm:git:https://x.git</connection></scm>
  <properties><info.versionScheme>early-semver</info.versionScheme></properties>
  <dependencies><dependency><groupId>g</groupId><artifactId>b</artifactId><version>1</version></dependency></dependencies>
</project>"""
METADATA = """Metadata-Version: 2.4
Name: dynamic-kafka
Version: 0.1.0
Summary: s
License-Expression: Apache-2.0
Requires-Python: >=3.10
Description-Content-Type: text/markdown

# Text
"""
CHANGES = """# Changelog

## [Unreleased]

- New, see [a page](docs/a.md) and [a site](https://kafka.apache.org/).

## [0.1.0] - 2026-12-01

- First.
"""


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("<name>a</name>", "", "the POM has no name"),
        ("<scm><url>https://x</url>", "<scm>", "the POM has no scm/url"),
        ("<license><name>Apache-2.0</name>", "<license>", "the POM has no licenses/license/name"),
        (
            "<version>0.1.0<",
            "<version>0.2.0<",
            "the POM has the coordinates ['io.github.dynamickafka'], ['0.2.0']",
        ),
        ("<version>1<", "<version>1-SNAPSHOT<", "the POM depends on b 1-SNAPSHOT"),
        ("<version>1</version>", "", "the POM has no version of b"),
    ],
)
def test_a_fault_of_a_pom(old: str, new: str, fault: str) -> None:
    assert artifacts.pom_faults(POM, "0.1.0", snapshot=False) == []
    assert artifacts.pom_faults(POM.replace(old, new), "0.1.0", snapshot=False) == [fault]


def test_faults_of_a_jar(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    with zipfile.ZipFile(jar, "w") as made:
        made.writestr("META-INF/LICENSE", "")
        made.writestr("io/AbcSuite.class", "")
    assert artifacts.jar_faults(jar) == ["the jar has no META-INF/NOTICE", "the jar has io/AbcSuite.class"]


def test_every_artifact_of_every_line_has_to_be_there(tmp_path: Path) -> None:
    found = artifacts.maven_faults(tmp_path, ["4.2", "4.1"], "0.1.0", snapshot=False)
    assert len(found) == 2 * len(artifacts.NAMES) * 4
    assert "dynamic-kafka-spark-4.1_2.13: no file dynamic-kafka-spark-4.1_2.13-0.1.0-javadoc.jar" in found


def test_no_other_file_is_published(tmp_path: Path) -> None:
    jar = artifacts.jar_of(tmp_path, "dynamic-kafka-spark-4.2_2.13", "0.1.0").with_stem("tests-javadoc")
    jar.parent.mkdir(parents=True)
    jar.write_text("")
    found = artifacts.maven_faults(tmp_path, ["4.2"], "0.1.0", snapshot=False)
    assert f"dynamic-kafka-spark-4.2_2.13: {jar.name} is not to be published" in found


def test_a_fault_of_the_metadata_of_python() -> None:
    assert artifacts.metadata_faults(METADATA, "0.1.0") == []
    assert artifacts.metadata_faults(METADATA, "0.2.0") == ["Version is '0.1.0'"]
    assert artifacts.metadata_faults(METADATA.replace("Summary: s\n", ""), "0.1.0") == ["Summary is missing"]
    assert artifacts.metadata_faults(METADATA.replace("# Text", ""), "0.1.0") == ["the description is empty"]
    assert artifacts.python_faults(Path("nowhere"), "0.1.0") == [
        "no file dynamic_kafka-0.1.0-py3-none-any.whl",
        "no file dynamic_kafka-0.1.0.tar.gz",
    ]


def test_two_builds_are_compared_byte_for_byte(tmp_path: Path) -> None:
    for build, text in (("first", "1"), ("second", "2")):
        folder = tmp_path / build / "x"
        folder.mkdir(parents=True)
        (folder / "same.jar").write_text("same")
        (folder / "other.jar").write_text(text)
        (folder / "maven-metadata-local.xml").write_text(text)
    (tmp_path / "first" / "x" / "once.whl").write_text("")
    assert artifacts.differences(tmp_path / "first", tmp_path / "second") == [
        "x/once.whl differs between two builds",
        "x/other.jar differs between two builds",
    ]


def library(root: Path, name: str, license: str, parent: str = "") -> Path:
    folder = root / "maven2" / "org" / "x" / name / "1"
    folder.mkdir(parents=True)
    (folder / f"{name}-1.jar").write_bytes(name.encode())
    namespace = 'xmlns="http://maven.apache.org/POM/4.0.0"'
    named = f"<licenses><license><name>{license}</name></license></licenses>" if license else ""
    (folder / f"{name}-1.pom").write_text(f"<project {namespace}>{parent}{named}</project>")
    return folder / f"{name}-1.jar"


def test_the_license_of_a_library_is_that_of_its_pom_or_its_parent(tmp_path: Path) -> None:
    parent = "<parent><groupId>org.x</groupId><artifactId>top</artifactId><version>1</version></parent>"
    library(tmp_path, "top", "The Apache Software License, Version 2.0")
    found = [
        sbom.component(library(tmp_path, "low", "", parent)),
        sbom.component(library(tmp_path, "gpl", "GPL-3.0")),
    ]
    assert [each.license for each in found] == ["Apache-2.0", "GPL-3.0"]
    (fault,) = sbom.license_faults(found)
    assert fault.startswith("pkg:maven/org.x/gpl@1: the license 'GPL-3.0' is not among Apache-2.0")


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Apache License, Version 2.0", "Apache-2.0"),
        ("https://www.apache.org/licenses/LICENSE-2.0.txt", "Apache-2.0"),
        ("MIT License", "MIT"),
        ("BSD 2-Clause License", "BSD-2-Clause"),
        ("The 3-Clause BSD License", "BSD-3-Clause"),
        ("Permitted for friends", "Permitted for friends"),
    ],
)
def test_names_of_licenses(name: str, id: str) -> None:
    assert sbom.spdx(name) == id


def test_the_bill_of_materials_is_the_same_each_time(tmp_path: Path) -> None:
    components = [sbom.component(library(tmp_path, name, "MIT")) for name in ("b", "a")]
    bill = sbom.document("g", "n", "1", components)
    assert bill == sbom.document("g", "n", "1", components[::-1])
    assert [each["purl"] for each in bill["components"]] == ["pkg:maven/org.x/a@1", "pkg:maven/org.x/b@1"]
    assert bill["components"][0]["hashes"][0]["content"] == hashlib.sha256(b"a").hexdigest()
    assert bill["components"][0]["licenses"] == [{"license": {"id": "MIT"}}]
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")


OTHER = Bundled("Chart", "chart.js", ("page/chart.min.js",))
CHART = {
    "META-INF/NOTICE": "Contains Chart 1.2.3 under the MIT License",
    "META-INF/licenses/Chart.txt": "The MIT License (MIT)\n\nCopyright",
    "page/chart.min.js": "/* (v1.2.3) */",
    "page/own.js": "",
}


def jar_with(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def test_files_of_other_projects_in_the_jar_are_in_the_bill(tmp_path: Path) -> None:
    (found,), faults = bundled(jar_with(tmp_path / "a.jar", CHART), (OTHER,))
    assert (faults, sbom.license_faults([found])) == ([], [])
    (entry,) = sbom.document("g", "n", "1", [found])["components"]
    assert (entry["purl"], entry["licenses"]) == ("pkg:npm/chart.js@1.2.3", [{"license": {"id": "MIT"}}])
    assert entry["hashes"][0]["content"] == hashlib.sha256(b"/* (v1.2.3) */").hexdigest()
    assert bundled(jar_with(tmp_path / "b.jar", {"a/B.class": ""}), (OTHER,)) == ([], [])


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"META-INF/licenses/Chart.txt": None}, "the jar has no META-INF/licenses/Chart.txt"),
        ({"page/new.min.css": ""}, "the jar has page/new.min.css, which release/bundled.py does not list"),
        ({"page/chart.min.js": "/* (v1.2.4) */"}, "META-INF/NOTICE does not name Chart 1.2.4"),
    ],
)
def test_a_fault_of_files_of_other_projects(tmp_path: Path, changed: dict[str, str | None], fault: str) -> None:
    files = {name: text for name, text in (CHART | changed).items() if text is not None}
    assert bundled(jar_with(tmp_path / "a.jar", files), (OTHER,))[1] == [fault]


def test_what_the_page_of_a_driver_contains_is_known(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    resources = root / "jvm" / "page" / "src" / "main" / "resources"
    files = {str(file.relative_to(resources)): file.read_text() for file in resources.rglob("*") if file.is_file()}
    notice = {"META-INF/NOTICE": (root / "NOTICE").read_text()}
    found, faults = bundled(jar_with(tmp_path / "a.jar", files | notice), BUNDLED)
    assert faults == []
    assert [(each.purl, each.license) for each in found] == [("pkg:npm/uplot@1.6.32", "MIT")]


def test_notes_are_the_section_of_the_version() -> None:
    assert notes(CHANGES, "0.1.0") == "- First.\n"
    assert notes(CHANGES, "0.1.0-SNAPSHOT") == "- First.\n"
    assert notes(CHANGES, "0.2.0-SNAPSHOT") == "- New, see a page and [a site](https://kafka.apache.org/).\n"
    with pytest.raises(ValueError, match=r"no section \[0.3.0\]"):
        notes(CHANGES, "0.3.0")
