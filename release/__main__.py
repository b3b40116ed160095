"""Builds twice what a release publishes, and verifies it: `make release-check`. Signs and uploads nothing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from release import artifacts, sbom
from release.bundled import bundled
from release.notes import notes

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "target" / "release"


def main() -> int:
    """Build, verify, and write what is uploaded, notes and bills of materials to target/release."""
    if _git(ROOT, "status", "--porcelain"):
        print("release-check: what is not committed is not part of the check", file=sys.stderr)
    version = _one(r'version := "([^"]+)"', "version.sbt")
    lines = re.findall(r'minor = "([^"]+)"', (ROOT / "project" / "SparkLines.scala").read_text())
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)

    faults: list[str] = []
    try:
        (FOLDER / "NOTES.md").write_text(notes((ROOT / "CHANGELOG.md").read_text(), version))
    except ValueError as error:
        faults.append(str(error))
    # In folders of other names, so that paths in the artifacts show as differences.
    builds = ("first", "second-build")
    class_paths, _ = (build(name, lines) for name in builds)
    first, second = (FOLDER / "artifacts-of" / name for name in builds)
    faults += artifacts.maven_faults(first / "maven", lines, version, snapshot=version.endswith("-SNAPSHOT"))
    faults += artifacts.python_faults(first / "python", python_version(version))
    faults += artifacts.differences(first, second)
    named = [f"{name}-{line}_2.13" for line in lines for name in artifacts.NAMES]
    for artifact, jars in zip(named, class_paths, strict=True):
        contained, wrong = bundled(artifacts.jar_of(first / "maven", artifact, version))
        faults += [f"{artifact}: {fault}" for fault in wrong]
        components = [*(sbom.component(jar) for jar in jars), *contained]
        faults += sbom.license_faults(components)
        bill = sbom.document(artifacts.GROUP, artifact, version, components)
        (FOLDER / f"{artifact}-{version}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n")
        names = "".join(f", contains {each.name} {each.version}" for each in contained)
        print(f"{artifact} {version}: {len(jars)} libraries{names}")
    # The bytes that were verified, with sbt's checksums.
    for kind, name in (("maven", "central"), ("python", "python")):
        shutil.copytree(first / kind, FOLDER / name)
    print("\n".join(faults) or f"release-check: no fault. What is uploaded is in {FOLDER.relative_to(ROOT)}")
    return 1 if faults else 0


def python_version(version: str) -> str:
    """The version in Python's form, as python/hatch_build.py makes it."""
    return re.sub(r"-RC(\d+)$", r"rc\1", version.replace("-SNAPSHOT", ".dev0"))


def build(name: str, lines: list[str]) -> list[list[Path]]:
    """Build a clone of what is committed; return the class paths of the dependencies of each line."""
    clone, out = FOLDER / name, FOLDER / "artifacts-of" / name
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    names = ("connector", "lineage")
    commands = []
    for line in lines:
        commands += [f"sparkLine {line}", *(f"{each}/publishM2" for each in names)]
        commands += [f"export {each}/Runtime/externalDependencyClasspath" for each in names]
    sbt = ["./sbt", f"-Dmaven.repo.local={out / 'maven'}", *commands]
    printed = _run(sbt, clone, FOLDER / f"{name}-sbt.log")
    epoch = _git(clone, "log", "-1", "--format=%ct")
    wheel = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out / "python"), "python"]
    _run(wheel, clone, FOLDER / f"{name}-python.log", SOURCE_DATE_EPOCH=epoch)
    # `export` prints a class path on a line of its own.
    found = [line for line in printed.splitlines() if re.fullmatch(r"(/[^:]+\.jar)(:/[^:]+\.jar)*", line)]
    return [[Path(jar) for jar in line.split(":")] for line in found]


def _git(folder: Path, *command: str) -> str:
    done = subprocess.run(["git", *command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _run(command: list[str], folder: Path, log: Path, **environment: str) -> str:
    """The output of the command, which is also in the log."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    log.write_text(done.stdout)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed: {log}\n{done.stdout[-3000:]}")
    return done.stdout


def _one(pattern: str, file: str) -> str:
    (found,) = re.findall(pattern, (ROOT / file).read_text())
    return str(found)


if __name__ == "__main__":
    sys.exit(main())
