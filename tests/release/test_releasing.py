"""docs/dev/releasing.md: its commands exist, and those that set the version leave it in each place."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from release.notes import notes

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "dev" / "releasing.md").read_text()
COMMANDS = re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)
# What the commands change, or look for the version in.
FILES = ("CHANGELOG.md", "README.md", "build.sbt", "docs", "examples", "python", "version.sbt")
PROGRAMS = {"curl", "env", "find", "jar", "mkdir", "python3"}


def version(root: Path = ROOT) -> str:
    (found,) = re.findall(r'^ThisBuild / version := "(.+)"$', (root / "version.sbt").read_text(), re.MULTILINE)
    return str(found)


def sections(root: Path = ROOT) -> list[tuple[str, str]]:
    """The versions in CHANGELOG.md, with their dates."""
    return re.findall(r"^## \[(.+)\](?: - (.+))?$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)


def faults(root: Path = ROOT) -> list[str]:
    """Where the version of the build is another one."""
    now = version(root)
    becomes = now.removesuffix("-SNAPSHOT")
    titles = [title for title, _ in sections(root)]
    found = [
        f"CHANGELOG.md: [{title}] has the date {date!r}"
        for title, date in sections(root)
        if not re.fullmatch("" if title == "Unreleased" else r"\d{4}-\d\d-\d\d", date)
    ]
    if titles[0] != becomes and (titles[0] != "Unreleased" or becomes == now):
        found.append(f"CHANGELOG.md begins with [{titles[0]}]")
    (releases,) = re.findall(r"^val releases = (.+)$", (root / "build.sbt").read_text(), re.MULTILINE)
    published = [title for title in titles if title not in ("Unreleased", becomes)]
    if re.findall(r'"(.+?)"', releases) != published[:1]:
        found.append(f"build.sbt compares with {releases}, CHANGELOG.md has {published}")
    project = (root / "python" / "pyproject.toml").read_text()
    if 'dynamic = ["version"]' not in project or re.search(r"^version\b", project, re.MULTILINE):
        found.append("pyproject.toml has a version of its own")
    pages = [root / "README.md", root / "python" / "README.md", *root.glob("docs/*.md")]
    pages += [root / "examples" / "Quickstart.scala"]
    for page in pages:
        text = page.read_text()
        others = set(re.findall(r"\d+\.\d+\.\d+-SNAPSHOT", text)) - {now}
        found += [f"{page.relative_to(root)} has {other}" for other in sorted(others)]
        if now.endswith("-SNAPSHOT") and re.search(r"pip install '?dynamic-kafka", text):
            found.append(f"{page.relative_to(root)} installs a package that is not published")
    return found


def test_versions_agree() -> None:
    assert faults() == []


def test_commands_of_a_release_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert len(COMMANDS) > 15
    for command in COMMANDS:
        match command.split():
            case ["make", target, *_]:
                assert target in targets
            case ["export" | "git" | "sed", *_]:
                # `git`, `sed`: the next test runs them.
                pass
            case [".venv/bin/python" | "target/try/bin/python", "-m", "pip" | "twine", *_]:
                pass
            case [program, *_]:
                assert program in PROGRAMS, command


def test_the_commands_set_the_version_everywhere(tmp_path: Path) -> None:
    """The commands that edit files, in a copy of the files. On the commit of a release, they have been run."""
    becomes = version().removesuffix("-SNAPSHOT")
    if becomes == version():
        return
    for name in FILES:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    changelog = tmp_path / "CHANGELOG.md"
    # On another day.
    changelog.write_text(re.sub(r"(## \[.+\] - )\S+", r"\g<1>2000-01-01", changelog.read_text()))
    setup = "git init --quiet; git config user.name a; git config user.email a@b; git add -A; git commit -qm first"
    before, _, after = PAGE.partition("## The next version")
    run(setup, tmp_path)
    run(edits(before), tmp_path, VERSION=becomes)
    show = ["git", "show", "--shortstat", "--format="]
    assert subprocess.run(show, cwd=tmp_path, check=True, capture_output=True, text=True).stdout in before
    assert faults(tmp_path) == []
    assert version(tmp_path) == becomes
    for page in ("docs/index.md", "docs/installing.md", "python/README.md"):
        assert "```bash\npip install 'dynamic-kafka[spark]'" in (tmp_path / page).read_text()
    assert ".dev0" not in (tmp_path / "python" / "README.md").read_text()
    assert "candidate" not in notes(changelog.read_text(), becomes)

    run(edits(after), tmp_path, VERSION=becomes, NEXT="9.0.0")
    assert faults(tmp_path) == []
    assert version(tmp_path) == "9.0.0-SNAPSHOT"
    assert [title for title, _ in sections(tmp_path)][:2] == ["Unreleased", becomes]


def edits(page: str) -> str:
    wanted = ("sed", "git commit", "git revert", "git checkout")
    return "\n".join(line for line in re.findall(r"^\$ (.+)$", page, re.MULTILINE) if line.startswith(wanted))


def run(commands: str, folder: Path, **variables: str) -> None:
    subprocess.run(["bash", "-ec", commands], cwd=folder, check=True, env=os.environ | variables)
