"""The table of docs/operations.md has the alert rules of docs/grafana. `make extra NAME=metrics` fires each of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

OPERATIONS = docs.ROOT / "docs" / "operations.md"
PAGES = "https://github.com/dynamickafka/dynamic-kafka-spark/blob/main/docs/"
FILES = sorted((docs.ROOT / "docs" / "grafana").glob("*-alerts.yaml"))
STOPPED = frozenset[str]()


class Alert(NamedTuple):
    """What a row of the table and a rule have in common."""

    gauges: frozenset[str]
    duration: str
    to_do: str


def rules(file: Path) -> list[dict[str, Any]]:
    """The rules of a file, in its order."""
    return [rule for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


ALL = [rule for file in FILES for rule in rules(file)]
# A query that has stopped is missed by any of its gauges.
OF_RULES = {
    rule["alert"]: Alert(
        STOPPED if "unless" in rule["expr"] else frozenset(re.findall(r"_([A-Za-z]+)_Number\"}", rule["expr"])),
        rule.get("for", "at once"),
        rule["annotations"]["runbook_url"].removeprefix(PAGES),
    )
    for rule in ALL
}
KNOWN = frozenset[str]().union(*(alert.gauges for alert in OF_RULES.values()))


def rows() -> dict[Alert, str]:
    """The rows of the table, with the condition of each."""
    table = OPERATIONS.read_text().partition("## What to alert on")[2].partition("\n|---|---|---|\n")[2]
    found = {}
    for row in table.partition("\n\n")[0].splitlines():
        condition, duration, _ = (cell.strip() for cell in row.strip("|").split("|"))
        (to_do,) = re.findall(r"\]\(([^)]+)\)", condition)
        gauges = frozenset(re.findall(r"`(\w+)`", condition)) & KNOWN
        short = re.sub(r"(\d+) (m|h)\w+", r"\1\2", duration.partition(",")[0])
        found[Alert(gauges, short, to_do)] = condition
    return found


def test_every_row_has_a_rule_and_every_rule_a_row() -> None:
    assert set(OF_RULES.values()) == set(rows())
    assert len(rows()) == 19


def test_the_query_that_has_stopped_comes_first() -> None:
    assert next(iter(rows())).gauges == STOPPED
    for file in FILES:
        assert OF_RULES[rules(file)[0]["alert"]].gauges == STOPPED


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: str(rule["alert"]))
def test_a_rule_has_a_severity_a_threshold_of_the_table_and_a_paragraph(rule: dict[str, Any]) -> None:
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    alert = OF_RULES[rule["alert"]]
    threshold = re.search(r"\) (>=? \d+)(?!\d| x)", rows()[alert])
    if threshold:
        assert threshold[1] in rule["expr"]
    page, _, anchor = alert.to_do.partition("#")
    assert anchor in docs.anchors(docs.ROOT / "docs" / page)
