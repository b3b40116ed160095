"""``reset``: positions of a cluster are set, by what its brokers have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import composite, composite_text, kafka
from dynamic_kafka._tools.checkpoint.ends import EARLIEST, LATEST, Ends, Partition
from dynamic_kafka._tools.checkpoint.log import read_batch
from dynamic_kafka._tools.cli.app import app

RESOURCES = REPOSITORY / "jvm/connector/src/test/resources/checkpoints"
OFFSET = (
    '{"version":2,"clusters":{"blue":{"orders":{"0":42,"1":7,"10":3},"other":{"0":1}},"red":{"orders":{"0":9}}},'
    '"retained":{"old":{"topics":{"orders":{"since":1,"offsets":{"0":99}}}}},'
    '"identities":{"blue":{"cluster":"k","topics":{"orders":"i"},"epochs":{"orders":[4,5,-1],"other":2}}}}'
)
FIRST = {("orders", 0): 5, ("orders", 1): 0, ("orders", 10): 2, ("other", 0): 0}
LAST = {("orders", 0): 50, ("orders", 1): 7, ("orders", 10): 30, ("other", 0): 1}
AT_TIME = {("orders", 0): 20, ("orders", 1): -1, ("orders", 10): 3, ("other", 0): 0}
STREAMS = """version: 1
clusters:
  blue: {properties: {bootstrap.servers: "blue:9092"}}
  red: {properties: {bootstrap.servers: "red:9092", security.protocol: SASL_SSL, sasl.mechanism: GSSAPI}}
streams:
  orders: {clusters: {blue: {topics: [orders, other]}, red: {topics: [orders]}}}
"""


@pytest.fixture
def checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint with a finished batch, and a metadata file."""
    checkpoint = Path(shutil.copytree(RESOURCES / "0.1.0", tmp_path / "checkpoint"))
    (checkpoint / "commits/1").write_text("v1\n{}")
    log(checkpoint, OFFSET)
    (tmp_path / "streams.yaml").write_text(STREAMS)
    monkeypatch.chdir(tmp_path)
    return checkpoint


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The answers of the broker; ``missing`` is why it does not answer."""
    broker: dict[str, Any] = {"missing": None}

    def offsets_at(
        properties: Mapping[str, str], client: Mapping[str, str], asked: Mapping[Partition, int], timeout_s: float
    ) -> Ends:
        assert client == {"bootstrap.servers": "blue:9092"}
        broker["asked"] = sorted({*broker.get("asked", ()), *asked.values()})
        answers = {EARLIEST: FIRST, LATEST: LAST}
        return Ends({at: answers.get(of, AT_TIME)[at] for at, of in asked.items()}, broker["missing"])

    monkeypatch.setattr(kafka, "offsets_at", offsets_at)
    return broker


def log(checkpoint: Path, text: str) -> None:
    (checkpoint / "offsets/1").write_text(f'v1\n{{"batchTimestampMs":1}}\n{text}')


def run(*arguments: object, cluster: str = "blue", exit_code: int = 0) -> Result:
    options = ["--cluster", cluster, "--metadata", "streams.yaml"]
    result = CliRunner().invoke(app, ["reset", *map(str, arguments), *options])
    assert result.exit_code == exit_code, result.output
    return result


def positions(checkpoint: Path) -> dict[Partition, int]:
    topics = offset(checkpoint).clusters["blue"]
    return {(topic, partition): at for topic, of in topics.items() for partition, at in of.items()}


def offset(checkpoint: Path) -> composite.CompositeOffset:
    return composite.read(read_batch(checkpoint, 1).offsets[0] or "")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("earliest", FIRST),
        ("latest", LAST),
        # Where no record is as late, the end.
        ("timestamp:1767268800000", AT_TIME | {("orders", 1): 7}),
        (
            '{"orders": {"0": 6, "10": -1}}',
            {("orders", 0): 6, ("orders", 1): 7, ("orders", 10): 30, ("other", 0): 1},
        ),
        ('{"orders": {"0": -2}}', {("orders", 0): 5, ("orders", 1): 7, ("orders", 10): 3, ("other", 0): 1}),
    ],
)
def test_forms(form: str, expected: dict[Partition, int], checkpoint: Path, broker: dict[str, Any]) -> None:
    before = offset(checkpoint)
    found = json.loads(run(checkpoint, "--to", form, "--json").stdout)
    assert positions(checkpoint) == expected
    assert [
        ((change["topic"], change["partition"]), change["from"], change["to"]) for change in found["changes"]
    ] == [
        (at, before.clusters["blue"][at[0]][at[1]], to)
        for at, to in sorted(expected.items())
        if before.clusters["blue"][at[0]][at[1]] != to
    ]
    assert (1767268800000 in broker["asked"]) == form.startswith("timestamp")
    after = offset(checkpoint)
    assert after.clusters["red"] == before.clusters["red"]
    assert (after.retained, after.identities["blue"].topics) == (before.retained, before.identities["blue"].topics)


def test_json(checkpoint: Path) -> None:
    found = json.loads(run(checkpoint, "--to", '{"orders": {"0": 6}}', "--json").stdout)
    change = {"source": 0, "cluster": "blue", "topic": "orders", "partition": 0, "from": 42, "to": 6}
    assert found == {"changes": [change]}


def test_text(checkpoint: Path) -> None:
    assert run(checkpoint, "--to", "earliest").stdout.splitlines() == [
        "after batch 1, the query continues at",
        "",
        "source  cluster  topic   partition  from  to",
        "0       blue     orders          0    42   5",
        "0       blue     orders          1     7   0",
        "0       blue     orders         10     3   2",
        "0       blue     other           0     1   0",
    ]


def test_epochs_of_other_positions_are_unknown(checkpoint: Path) -> None:
    run(checkpoint, "--to", '{"orders": {"0": 6}}')
    assert offset(checkpoint).identities["blue"].epochs == {"orders": {1: 5}, "other": {0: 2}}
    run(checkpoint, "--to", "earliest")
    assert offset(checkpoint).identities["blue"].epochs == {}


def test_restore_undoes_it_to_the_byte(checkpoint: Path) -> None:
    (checkpoint / "offsets/.1.crc").write_bytes(b"crc\0")
    before = {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()}
    run(checkpoint, "--to", "latest")
    assert not (checkpoint / "offsets/.1.crc").exists()
    result = CliRunner().invoke(app, ["restore", str(checkpoint)])
    assert result.stdout == "undone: reset --cluster blue --to latest, after batch 1\n  offsets/1\n"
    assert {file: file.read_bytes() for file in checkpoint.rglob("*") if file.is_file()} == before


def test_nothing_to_change(checkpoint: Path) -> None:
    assert run(checkpoint, "--to", '{"orders": {"0": 42}}').stdout == "nothing to change\n"
    assert not (checkpoint / "dynamic-kafka-edits").exists()


def test_a_topic_that_drains_is_read_up_to_its_target(checkpoint: Path) -> None:
    log(checkpoint, OFFSET.replace(',"retained"', ',"draining":{"blue":{"orders":{"0":45}}},"retained"'))
    run(checkpoint, "--to", "latest")
    assert positions(checkpoint)["orders", 0] == 45


def test_several_sources_of_a_log_of_version_2(checkpoint: Path) -> None:
    lines = ["v2", "{}", "rates:{}", f"b:{OFFSET}", f"a:{OFFSET}"]
    (checkpoint / "offsets/1").write_text("\n".join(lines))
    found = json.loads(run(checkpoint, "--to", '{"orders": {"0": 6}}', "--json").stdout)
    assert [change["source"] for change in found["changes"]] == ["b", "a"]
    moved = composite_text.moved(OFFSET, "blue", {"orders": {0: 6}})
    assert (checkpoint / "offsets/1").read_text() == "\n".join([*lines[:3], f"b:{moved}", f"a:{moved}"])


@pytest.mark.parametrize(
    ("form", "cluster", "says"),
    [
        ("earliest", "bleu", "streams.yaml: no stream has a cluster 'bleu'. Did you mean 'blue'?"),
        (
            "earliest",
            "red",
            "librdkafka cannot log in with the mechanism GSSAPI as Java clients do",
        ),
        ('{"order": {"0": 6}}', "blue", "reads no topic 'order' of cluster blue. Did you mean 'orders'?"),
        ('{"orders": {"2": 6}}', "blue", "reads no partition 2 of topic 'orders', cluster blue"),
        ('{"orders": {"0": 4}}', "blue", "topic 'orders', partition 0 has the offsets 5 to 50, not 4"),
        ('{"orders": {"0": 51}}', "blue", "topic 'orders', partition 0 has the offsets 5 to 50, not 51"),
    ],
)
def test_what_is_refused(form: str, cluster: str, says: str, checkpoint: Path) -> None:
    result = run(checkpoint, "--to", form, cluster=cluster, exit_code=1)
    assert says in result.stderr
    assert result.stdout == ""
    assert read_batch(checkpoint, 1).offsets == {0: OFFSET}


def test_a_broker_that_does_not_answer(checkpoint: Path, broker: dict[str, Any]) -> None:
    broker["missing"] = "blue:9092: no answer within 10 s"
    result = run(checkpoint, "--to", "latest", exit_code=1)
    assert result.stderr == "the offsets are not known: blue:9092: no answer within 10 s\n"


def test_a_cluster_that_is_retained(checkpoint: Path) -> None:
    log(checkpoint, OFFSET.partition(',"identities"')[0].replace('"blue"', '"x"').replace('"old"', '"blue"') + "}")
    assert (
        "reads no cluster 'blue'. It is retained, so it is not read."
        in run(checkpoint, "--to", "latest", exit_code=1).stderr
    )


def test_an_unfinished_batch(checkpoint: Path) -> None:
    (checkpoint / "commits/1").unlink()
    result = run(checkpoint, "--to", "latest", exit_code=1)
    assert f"batch 1 of {checkpoint} is logged and not finished: start the query once more" in result.stderr


@pytest.mark.parametrize(
    "form",
    ["oldest", "timestamp:", "timestamp:-1", "[]", "{}", '{"t": 5}', '{"t": {"a": 5}}', '{"t": {"0": -3}}', "1"],
)
def test_forms_that_are_none(form: str, checkpoint: Path) -> None:
    result = run(checkpoint, "--to", form, exit_code=2)
    assert "is neither 'earliest', 'latest', 'timestamp:<ms>' nor JSON" in result.stderr.replace("\n", " ")
