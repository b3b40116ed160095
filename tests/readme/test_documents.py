"""Names in the documents agree with their definitions."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs
from dynamic_kafka import _artifact, errors

from tests.lineage import OPENLINEAGE

MAIN = docs.ROOT / "jvm" / "connector" / "src" / "main"
FORMATS = docs.ROOT / "jvm" / "formats" / "src" / "main"
CHECKED = {"bash", "json", "properties", "python", "scala", "xml", "yaml"}
NOT_CHECKED = {"mermaid", "text"}
# The commands that a shell block may contain besides make and sbt.
COMMANDS = {
    "pip install './python[spark]'",
    # On the commit of a release: docs/dev/releasing.md.
    "pip install 'dynamic-kafka[spark]'",
    "python -m dynamic_kafka schema > metadata.schema.json",
    "spark-pipelines --remote sc://localhost:15002 run --spec examples/pipeline/spark-pipeline.yml",
    # The namespace and the secret of the manifests, see tests/kubernetes.
    "kubectl create namespace data",
    "kubectl create secret generic kafka-credentials --namespace data --from-file=blue.properties",
    "python examples/clusters.py start",
    "python examples/quickstart.py",
    ".venv/bin/python examples/event_time.py",
    ".venv/bin/python examples/real_time.py",
    ".venv/bin/python -m pytest tests/e2e/test_demo.py",
}


MANIFESTS = docs.ROOT / "examples" / "kubernetes"


@pytest.mark.parametrize("block", docs.blocks(), ids=str)
def test_blocks_have_a_language_that_is_checked(block: docs.Block) -> None:
    assert block.language in CHECKED | NOT_CHECKED


@pytest.mark.parametrize("document", docs.documents(), ids=docs.name)
def test_links_have_a_target(document: Path) -> None:
    for target in docs.links(document):
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), target
        if anchor:
            assert anchor in docs.anchors(linked), target


def test_the_site_has_every_page() -> None:
    """`make extra NAME=site` fails otherwise. Decisions are linked from their index."""
    folder = docs.ROOT / "docs"
    pages = {str(page.relative_to(folder)) for page in folder.glob("**/*.md")}
    decisions = {page for page in pages if re.fullmatch(r"dev/decisions/0.*", page)}
    listed = re.findall(r"^ +- (?:.+: )?(\S+\.md)$", (docs.ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(pages - decisions)


def test_the_pages_have_a_limit_of_words() -> None:
    for most, pages in ((35_000, ("README.md", "docs/*.md")), (25_000, ("docs/dev/**/*.md",))):
        assert sum(len(file.read_text().split()) for page in pages for file in docs.ROOT.glob(page)) <= most


# The blocks of the quickstart are run.
@pytest.mark.parametrize("block", [b for b in docs.blocks("bash") if b not in docs.quickstart()], ids=str)
def test_commands_exist(block: docs.Block) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (docs.ROOT / "Makefile").read_text(), re.MULTILINE))
    coordinate = _artifact.coordinate(_artifact.spark_line())
    for line in block.text.splitlines():
        words = shlex.split(line, comments=True)
        match words:
            case []:
                continue
            case ["make", target]:
                assert target in targets
            case ["make", "extra", name, *_]:
                assert name.replace("NAME=", "extra-") in targets
            case ["./sbt", task]:
                assert task.split("/")[0] in ("connector", "formats", "lineage", "testkit")
            case ["spark-submit" | "spark-shell" | "pyspark", "--packages", packages, *_]:
                assert packages in (coordinate, ",".join((coordinate, _lineage(coordinate), OPENLINEAGE)))
            case ["kubectl", "apply", *files]:
                assert all((MANIFESTS / file).exists() for file in files if file != "-f")
            case _:
                assert re.sub(r"\s+#.*", "", line) in COMMANDS


def _lineage(coordinate: str) -> str:
    return coordinate.replace("dynamic-kafka-spark", "dynamic-kafka-openlineage")


def test_versions_are_the_current_one() -> None:
    coordinate = _artifact.coordinate(_artifact.spark_line())
    group = coordinate.rpartition(":")[0].split(":")[0]
    for path in [*docs.documents(), docs.ROOT / "examples" / "Quickstart.scala"]:
        for found in re.findall(rf"{re.escape(group)}:[\w.-]+:[\w.-]+", path.read_text()):
            assert found in (coordinate, _lineage(coordinate)), path
        # In sbt's form, whose %% appends the Scala version.
        for artifact, version in re.findall(
            rf'"{re.escape(group)}" %% "([\w.-]+)" % "([\w.-]+)"', path.read_text()
        ):
            assert f"{group}:{artifact}_2.13:{version}" == coordinate, path
        # In Maven's form.
        for artifact, version in re.findall(
            rf"<groupId>{re.escape(group)}</groupId>\s*<artifactId>(.+)</artifactId>\s*<version>(.+)</version>",
            path.read_text(),
        ):
            assert f"{group}:{artifact}:{version}" == coordinate, path


def test_the_upserts_of_changes_are_those_of_the_example_which_is_tested() -> None:
    example = (docs.ROOT / "examples" / "change_data.py").read_text()
    _, begin, rest = example.partition("# The code of docs/change-data.md begins.\n")
    code, end, _ = rest.partition("\n\n# The code of docs/change-data.md ends.")
    assert begin
    assert end
    found = [block.text for block in docs.blocks("python") if block.document == "docs/change-data.md"]
    assert any(text.endswith(code) for text in found)


def test_the_query_that_makes_a_history_is_that_of_the_example_which_is_tested() -> None:
    example = (docs.ROOT / "examples" / "history.py").read_text()
    _, begin, rest = example.partition("# The code of docs/history.md begins.\n")
    code, end, _ = rest.partition("\n\n\n# The code of docs/history.md ends.")
    assert begin
    assert end
    found = [block.text.rstrip() for block in docs.blocks("python") if block.document == "docs/history.md"]
    assert any(text.endswith(code) for text in found)


def test_the_classes_of_users_are_those_of_the_example_which_is_run() -> None:
    example = (docs.ROOT / "examples" / "Extending.scala").read_text()
    found = [block.text for block in docs.blocks("scala") if block.document == "docs/extending.md"]
    assert len(found) == 2
    for text in found:
        code = re.sub(r"\A(?:import [^{\n]*(?:\{[^}]*\})?\n|\n)*", "", text)
        assert code in example, code


def test_every_error_is_documented_and_no_other() -> None:
    conditions = json.loads((FORMATS / "resources/error/dynamic-kafka-error-conditions.json").read_text())
    text = (docs.ROOT / "docs" / "errors.md").read_text()
    assert sorted(re.findall(r"^### (\w+)$", text, re.MULTILINE)) == sorted(
        conditions["DYNAMIC_KAFKA"]["subClass"]
    )


def test_errors_link_to_the_options_that_they_name() -> None:
    headings = (docs.ROOT / "docs" / "options.md").read_text().partition("## Options of one cluster")[0]
    options = re.findall(r"^### ([\w.]+)$", headings, re.MULTILINE)
    sections = re.split(r"^### ", (docs.ROOT / "docs" / "errors.md").read_text(), flags=re.MULTILINE)[1:]
    named = [
        (section.partition("\n")[0], option)
        for section in sections
        for option in options
        if re.search(rf"`{re.escape(option)}(=[\w-]+)?`", section)
    ]
    assert len(named) > 30
    linked = {error: section for section in sections for error in (section.partition("\n")[0],)}
    assert [
        (error, option)
        for error, option in named
        if f"](options.md#{option.lower().replace('.', '')})" not in linked[error]
    ] == []


def test_every_error_of_the_python_package_is_documented_and_no_other() -> None:
    raised = re.findall(r'^        "([A-Z_]+)",$', Path(errors.__file__).read_text(), re.MULTILINE)
    text = (docs.ROOT / "docs" / "errors.md").read_text()
    assert sorted(re.findall(r"^\| `([A-Z_]+)` \|", text, re.MULTILINE)) == sorted(raised)


def test_figures_of_tuning_are_those_of_the_benchmarks() -> None:
    text = (docs.ROOT / "docs" / "tuning.md").read_text()
    benchmarks = (docs.ROOT / "docs" / "dev" / "benchmarks.md").read_text()
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
    figures = re.findall(r"\d+\.\d+|\d+ to \d+|\d+(?= ms| MiB)", prose)
    assert len(figures) > 40
    assert [figure for figure in figures if figure.replace(" to ", "-") not in benchmarks] == []


def test_loggers_exist() -> None:
    text = (docs.ROOT / "docs" / "operations.md").read_text()
    table = text.partition("## Log lines")[2].partition("\n\n|")[2].partition("\n\n")[0]
    loggers = re.findall(r"`((?:\w+\.)+[A-Z]\w+)`", table)
    assert len(loggers) > 8
    for logger in loggers:
        folder, _, name = logger.replace(".", "/").rpartition("/")
        files = [
            file
            for main in (MAIN, FORMATS)
            for file in (main / f"scala/io/github/dynamickafka/{folder}").glob("*")
        ]
        declared = re.compile(rf"^.*\b(class|object|trait) {name}\b", re.MULTILINE)
        assert any(declared.search(file.read_text()) for file in files if file.is_file()), logger


def test_every_metric_is_documented() -> None:
    reporter = (MAIN / "scala/io/github/dynamickafka/source/report/QueryReporter.scala").read_text()
    source = reporter.partition("def ofQuery")[2].partition("object QueryMetrics")[0]
    text = (docs.ROOT / "docs" / "operations.md").read_text()
    metrics = re.findall(r'"(\w+)" ->', source)
    assert len(metrics) > 20
    assert [metric for metric in metrics if not re.search(rf"`{metric}[.`]", text)] == []


def test_the_most_important_options_exist() -> None:
    # A suite compares this document with the declarations.
    declared = (docs.ROOT / "docs" / "options.md").read_text().partition("## Options of one cluster")[0]
    known = set(re.findall(r"^### (\w+)$", declared, re.MULTILINE))
    assert len(known) > 20
    table = (docs.ROOT / "docs" / "reading.md").read_text().partition("## The most important options")[2]
    rows = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    named = {option for row in rows for option in re.findall(r"`(\w+)`", row)}
    assert named
    assert named <= known
