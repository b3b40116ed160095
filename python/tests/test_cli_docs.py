"""The output in docs/cli.md is the output of the command line."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import kafka
from dynamic_kafka._tools.checkpoint.ends import EARLIEST, LATEST, Ends, Partition
from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.doctor.check import Result as Found
from dynamic_kafka._tools.doctor.check import run as run_checks
from dynamic_kafka._tools.operator import connector
from dynamic_kafka._tools.plan.plan import Plan

DOCS = REPOSITORY / "docs"
CHECKPOINT = REPOSITORY / "jvm/connector/src/test/resources/checkpoints/0.1.0"
GOLDEN = REPOSITORY / "tests/conformance/checkpoints/aggregation-4.2.0"
EXAMPLES = re.findall(r"^\$ python -m dynamic_kafka (.+)\n((?:.*\n)*?)```$", (DOCS / "cli.md").read_text(), re.M)
# The differences of the other files in the examples from streams.yaml.
BROKEN = {"state: draining": "state: drained", "green: {topics: [payments-eu": "gren: {topics: [payments-eu"}
NEW = {
    'bootstrap.servers: "green-1:9092"': 'bootstrap.servers: "green-1:9092,green-2:9092"',
    "      blue: {topics: [orders], state: draining}\n": "",
    "payments-us]": "payments-ca]",
    "streams:\n": '  red:\n    properties: {bootstrap.servers: "red-1:9092"}\nstreams:\n',
    "  payments:\n    clusters:\n": "  payments:\n    clusters:\n      red: {topics: [payments]}\n",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files of the examples, and brokers, one of which is down."""
    found = re.search(r"```yaml\n(.*?)```", (DOCS / "metadata.md").read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "streams.yaml").write_text(found[1])
    (tmp_path / "broken.yaml").write_text(changed(found[1], BROKEN))
    (tmp_path / "new.yaml").write_text(changed(found[1], NEW))
    shutil.copytree(CHECKPOINT, tmp_path / "checkpoint")
    for file in (tmp_path / "checkpoint").rglob("topology/*.json"):
        file.write_text(re.sub(r"@(\w+)@", r"\1-1:9092", file.read_text()))

    shutil.copytree(GOLDEN, tmp_path / "counts")
    for folder, cluster in (("moved", "blue"), ("renamed", "blue"), ("orders", "green")):
        done("migrate", tmp_path / "counts", "--to", tmp_path / folder, "--cluster", cluster)
    done("rename-cluster", tmp_path / "renamed", "blue", "azure")

    def end_offsets(properties: Mapping[str, str], partitions: list[Partition], timeout_s: float) -> Ends:
        address = properties["bootstrap.servers"]
        if address == "green-1:9092":
            return Ends(missing=f"{address}: Failed to get metadata: Local: Broker transport failure")
        return Ends({(topic, partition): 4 + 3 * partition for topic, partition in partitions})

    def offsets_at(
        properties: Mapping[str, str], client: Mapping[str, str], asked: Mapping[Partition, int], timeout_s: float
    ) -> Ends:
        return Ends({at: {EARLIEST: 3, LATEST: 14}[offset] for at, offset in asked.items()})

    def ask(arguments: list[str], given_jars: str | None) -> connector.Reply:
        looks = arguments[0] == "transactions"
        states = {"blue": "unreachable", "green": "open" if looks else "committed"}
        ids = {cluster: f"dynamic-kafka-q-i-3-{cluster}-0.1-0-0.0" for cluster in states}
        entries = [{"cluster": c, "transactional_id": ids[c], "state": state} for c, state in states.items()]
        decision = {"batch": 7, "generation": 3, "transactions": entries}
        if not looks:
            return connector.Reply(0, decision)
        reason = "cluster 'blue' is unreachable: blue-1:9093,blue-2:9093: TimeoutException"
        return connector.Reply(1, {"decisions": [decision]}, [reason])

    down = Found(
        "failed",
        "no connection to blue-1:9093 (Connection refused); blue-2:9093 (no answer)",
        "start the broker, correct the port, or open the firewall",
    )
    blue = {"dns": lambda: Found("ok", "2 of 2 names resolve"), "tcp": lambda: down}
    monkeypatch.setattr("dynamic_kafka._tools.cli.doctor.examine", lambda *_: list(run_checks("blue", blue)))

    def place(cluster: str) -> dict[str, object]:
        return {"cluster": cluster, "topic": "orders", "partition": 0}

    planned = Plan(
        enters=[{**place("green"), "position": 0, "by": "earliest"}],
        drains=[{**place("red"), "position": 4, "target": 10}],
        leaves=[{**place("blue"), "position": 4, "end": 7, "records": 3}],
        lost_records=3,
        lost_bytes=600,
        rights=[{"cluster": "green", "topic": "orders", "right": "Read"}],
        next_batch={"green": 10, "red": 6},
    )
    monkeypatch.setattr("dynamic_kafka._tools.cli.plan.make", lambda *_: planned)
    (tmp_path / "shipments").mkdir()
    monkeypatch.setattr(connector, "ask", ask)
    monkeypatch.setattr(kafka, "end_offsets", end_offsets)
    monkeypatch.setattr(kafka, "offsets_at", offsets_at)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def done(*arguments: object) -> None:
    assert CliRunner().invoke(app, [*map(str, arguments)]).exit_code == 0


def changed(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=[arguments for arguments, _ in EXAMPLES])
def test_output_is_real(here: Path, arguments: str, output: str) -> None:
    assert CliRunner().invoke(app, shlex.split(arguments)).output == output


def test_every_command_has_an_example() -> None:
    assert {arguments.split()[0] for arguments, _ in EXAMPLES} | {"schema"} == set(app.commands)


def test_the_example_of_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of docs/changing.md, one after the other."""
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "changing.md").read_text()
    [first] = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    [changed_lines] = re.findall(r"changed:\n\n```text\n(.*?)```", text, re.DOTALL)
    file = Path("streams.yaml")
    file.write_text(first)
    steps = re.findall(r"^\$ (.+)\n((?:(?!\$ |```).*\n)*)", text, re.M)
    assert len(steps) == 6
    for command, output in steps:
        program, *arguments = command.split()
        if program == "cp":
            shutil.copy(*arguments)
            continue
        result = CliRunner().invoke(app, arguments[2:])
        assert result.output == output, command
        if arguments[2] == "move":
            assert file.read_text() == first.replace("      blue: {topics: [orders]}\n", changed_lines)
