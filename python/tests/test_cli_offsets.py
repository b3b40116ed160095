"""``offsets``: the newest offset in a checkpoint."""

from __future__ import annotations

import base64
import builtins
import json
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import kafka
from dynamic_kafka._tools.checkpoint.ends import Ends, Partition
from dynamic_kafka._tools.cli.app import app

RESOURCES = REPOSITORY / "jvm/connector/src/test/resources/checkpoints"
ADDRESSES = {"blue": "blue:9092", "green": "green:9092", "red": "red:9092"}


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The connector's golden checkpoint, with addresses."""
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(RESOURCES / "0.1.0", checkpoint)
    for file in checkpoint.rglob("topology/*.json"):
        text = file.read_text()
        for cluster, address in ADDRESSES.items():
            text = text.replace(f"@{cluster}@", address)
        file.write_text(text)
    return checkpoint


@pytest.fixture(autouse=True)
def brokers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Ends]:
    """The answers of brokers, by address; other brokers do not respond."""
    answers: dict[str, Ends] = {}

    def end_offsets(properties: Mapping[str, str], partitions: list[Partition], timeout_s: float) -> Ends:
        return answers.get(properties["bootstrap.servers"], Ends(missing=f"no answer within {timeout_s:g} s"))

    monkeypatch.setattr(kafka, "end_offsets", end_offsets)
    return answers


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["offsets", *map(str, arguments)])


def log(checkpoint: Path, batch: int, *offsets: str) -> None:
    text = "\n".join(["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1795246634419}', *offsets])
    (checkpoint / "offsets" / str(batch)).write_text(text)


def edit_topology(checkpoint: Path, **properties: str) -> None:
    """Writes a newer topology, in which blue has more properties; `_` in their names stands for `.`."""
    folder = checkpoint / "sources/0/dynamic-kafka/topology"
    topology = json.loads((folder / "1.json").read_text())
    given = {name.replace("_", "."): value for name, value in properties.items()}
    topology["current"]["blue"]["properties"] |= given
    (folder / "12.json").write_text(json.dumps(topology))


def test_positions_with_lag(checkpoint: Path, brokers: dict[str, Ends]) -> None:
    brokers["blue:9092"] = Ends({("golden-orders", 0): 10, ("golden-orders", 1): 4})
    brokers["green:9092"] = Ends({("golden-orders", 0): 5}, "green:9092: Unknown topic or partition")
    brokers["red:9092"] = Ends({("golden-old", 0): 2, ("golden-old", 1): 2})
    result = run(checkpoint)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "batch 1 of 2026-11-21 07:37:14 UTC, logged, not finished: it will be read again",
        "",
        "source 0",
        "",
        "cluster  topic          partition  position  end  lag  state",
        "blue     golden-orders          0         4   10    6  reading",
        "blue     golden-orders          1         4    4    0  reading",
        "green    golden-orders          0         2    5    3  retained since 2026-11-21 07:37:14 UTC",
        "green    golden-orders          1         2            retained since 2026-11-21 07:37:14 UTC",
        "red      golden-old             0         1    2    1  draining to 2",
        "red      golden-old             1         1    2    1  draining to 2",
        "",
        "lag of the partitions being read: 8",
        "lag of cluster green is not known: green:9092: Unknown topic or partition",
    ]


def test_files_of_a_history_that_are_read(checkpoint: Path) -> None:
    offset = '{"version":2,"clusters":{"blue":{"t":{"0":7}}},"history":{"orders":250}}'
    log(checkpoint, 7, offset)
    lines = run(checkpoint, "--no-lag").stdout.splitlines()
    assert "stream orders: 250 files of the history are read, and Kafka follows on the last one" in lines
    (source,) = json.loads(run(checkpoint, "--no-lag", "--json").stdout)["sources"]
    assert source["history_files"] == {"orders": 250}


def test_json(checkpoint: Path, brokers: dict[str, Ends]) -> None:
    brokers["red:9092"] = Ends({("golden-old", 0): 2})
    result = run(checkpoint, "--json", "--timeout", "2.5")
    answer = json.loads(result.stdout)
    assert (answer["batch"], answer["finished"], answer["timestamp_ms"]) == (1, False, 1795246634419)
    (source,) = answer["sources"]
    assert source["source"] == 0
    assert source["lag_unknown"] == {"blue": "no answer within 2.5 s", "green": "no answer within 2.5 s"}
    assert source["positions"][4] == {
        "cluster": "red",
        "topic": "golden-old",
        "partition": 0,
        "position": 1,
        "state": "draining",
        "entered": None,
        "target": 2,
        "stop": None,
        "since_ms": None,
        "end": 2,
        "lag": 1,
    }


def test_every_section_of_an_offset(checkpoint: Path) -> None:
    log(checkpoint, 7, "-", (RESOURCES / "offset-0.1.0.json").read_text().strip())
    (checkpoint / "commits" / "7").write_text("v1\n{}")
    text = run(checkpoint, "--no-lag").stdout
    assert text.startswith("batch 7 of 2026-11-21 07:37:14 UTC, finished\n\nsource 1\n")
    assert [line.split(maxsplit=4) for line in text.splitlines()[6:]] == [
        ["blue", "orders", "0", "42", "draining to 120, ends at 42"],
        ["blue", "orders", "1", "7", "draining to 7, ends at 9"],
        ["blue", "orders", "10", "3", "draining to 3"],
        ["green", "orders", "0", "5", "reading, ends at 5, entered at 0"],
        ["old", "orders", "0", "99", "retained since 2025-11-21 04:40:00 UTC"],
        ["red", "orders", "0", "120", "drained since 2025-11-21 04:40:00 UTC"],
    ]


def test_a_packed_offset(checkpoint: Path) -> None:
    text = b'{"version":2,"clusters":{"blue":{"orders":2,"u":[7]}}}'
    packed = base64.b64encode(zlib.compress(bytes([len(text)]) + text + bytes([42, 0xAC, 0x02, 5]))).decode()
    log(checkpoint, 7, f'{{"version":2,"packed":"{packed}"}}')
    assert [line.split() for line in run(checkpoint, "--no-lag").stdout.splitlines()[5:]] == [
        ["blue", "orders", "0", "42", "reading"],
        ["blue", "orders", "1", "300", "reading"],
        ["blue", "u", "7", "5", "reading"],
    ]


def test_a_log_of_version_2(checkpoint: Path, brokers: dict[str, Ends]) -> None:
    """Lines have ids of sources, which are names if the query gives them, and may be in any order."""
    brokers["blue:9092"] = Ends({("orders", 0): 50})
    (checkpoint / "sources/0").rename(checkpoint / "sources/first")
    offset = '{"version":2,"clusters":{"blue":{"orders":{"0":42}}}}'
    lines = [
        "v2",
        '{"batchTimestampMs":1795246634419}',
        "2:-",
        f"first:{offset}",
        '1:{"orders":{"0":7}}',
        f"0:{offset}",
    ]
    (checkpoint / "offsets" / "7").write_text("\n".join(lines))
    answer = json.loads(run(checkpoint, "--json").stdout)
    assert [source["source"] for source in answer["sources"]] == ["first", 0]
    assert [source["positions"][0]["lag"] for source in answer["sources"]] == [8, None]
    assert "\nsource first\n" in run(checkpoint).stdout


def test_addresses_are_those_of_the_newest_topology(checkpoint: Path, brokers: dict[str, Ends]) -> None:
    edit_topology(checkpoint, bootstrap_servers="moved:9092")
    brokers["moved:9092"] = Ends({("golden-orders", 0): 10, ("golden-orders", 1): 4})
    assert "lag of the partitions being read: 6 (where known)" in run(checkpoint).stdout


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        (
            {"security_protocol": "SASL_SSL"},
            "needs credentials (SASL_SSL), which checkpoints do not contain: use --metadata",
        ),
        ({}, "no answer within 10 s"),
    ],
)
def test_why_lag_is_not_known(checkpoint: Path, properties: dict[str, str], reason: str) -> None:
    edit_topology(checkpoint, **properties)
    (line,) = [line for line in run(checkpoint).stdout.splitlines() if "lag of cluster blue" in line]
    assert line.endswith(reason)


def test_a_checkpoint_without_topologies(checkpoint: Path) -> None:
    shutil.rmtree(checkpoint / "sources")
    result = run(checkpoint)
    assert result.exit_code == 0
    assert result.stdout.count("the checkpoint has no properties of this cluster") == 3


def test_an_address_that_is_a_reference(checkpoint: Path) -> None:
    file = checkpoint / "sources/0/dynamic-kafka/topology/1.json"
    file.write_text(file.read_text().replace('"bootstrap.servers":"blue:9092"', ""))
    assert (
        "lag of cluster blue is not known: the checkpoint has no address of this cluster" in run(checkpoint).stdout
    )


def test_without_a_kafka_client(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "confluent_kafka":
            raise ImportError(name)
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    result = run(checkpoint)
    assert result.exit_code == 0
    assert "pip install 'dynamic-kafka[cli]'" in result.stdout


@pytest.mark.parametrize(
    ("offset", "says"),
    [
        (
            '{"version":5,"clusters":{}}',
            "has version 5, but this release supports version 2",
        ),
        ('{"version":2,"clusters":{},"paused":{}}', "unknown section 'paused'"),
        (
            '{"orders":{"0":5}}',
            "has no offset of a dynamic-kafka source: its query reads Spark's kafka source, from which",
        ),
        ('{"version":{"0":5},"clusters":{"0":5}}', "has no offset of a dynamic-kafka source"),
        ("-", "has no offset of a dynamic-kafka source\n"),
        ("{", "has no offset of a dynamic-kafka source\n"),
        ('{"offset":6}', "has no offset of a dynamic-kafka source\n"),
    ],
)
def test_offsets_that_cannot_be_understood(checkpoint: Path, offset: str, says: str) -> None:
    log(checkpoint, 2, offset)
    result = run(checkpoint)
    assert result.exit_code == 1
    assert says in result.stderr
    assert result.stdout == ""


def test_folders_that_are_no_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    assert "is not a checkpoint of a streaming query" in run(tmp_path).stderr
    for file in (checkpoint / "offsets").iterdir():
        file.unlink()
    assert "has not planned a batch yet" in run(checkpoint).stderr
    for text, says in (
        ("", "supports versions v1, v2"),
        ("v9\n{}\n", "supports versions v1, v2"),
        ("v1\n", "truncated"),
    ):
        (checkpoint / "offsets" / "0").write_text(text)
        result = run(checkpoint)
        assert result.exit_code == 1
        assert says in result.stderr


def test_a_topology_that_cannot_be_understood(checkpoint: Path) -> None:
    file = checkpoint / "sources/0/dynamic-kafka/topology/1.json"
    for text, says in (("{", "is not a topology"), ('{"version":2}', "has version 2")):
        file.write_text(text)
        result = run(checkpoint)
        assert result.exit_code == 1
        assert says in result.stderr
    assert run(checkpoint, "--no-lag").exit_code == 0


def test_where_reading_ends(checkpoint: Path) -> None:
    clusters = {"blue": {"orders": {"0": 42, "1": 7}}, "green": {"orders": {"0": 5}}}
    ends = {
        "blue": {"orders": {"by": "latest", "offsets": {"0": 42, "1": 9}}},
        "green": {"orders": {"by": "latest", "offsets": {"0": 5}}},
    }
    log(checkpoint, 7, json.dumps({"version": 2, "clusters": clusters, "ends": ends}))
    assert [line.split(maxsplit=4) for line in run(checkpoint, "--no-lag").stdout.splitlines()[5:]] == [
        ["blue", "orders", "0", "42", "reading, ends at 42"],
        ["blue", "orders", "1", "7", "reading, ends at 9"],
        ["green", "orders", "0", "5", "reading, ends at 5"],
    ]
    (source,) = json.loads(run(checkpoint, "--no-lag", "--json").stdout)["sources"]
    assert [position["stop"] for position in source["positions"]] == [42, 9, 5]
