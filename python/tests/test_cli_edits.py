"""``rename-cluster`` and ``restore``: edits of a checkpoint, which can be undone to the byte."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conformance import cases
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import composite, composite_text
from dynamic_kafka._tools.checkpoint.log import read_batch
from dynamic_kafka._tools.cli.app import app

RESOURCES = REPOSITORY / "jvm/connector/src/test/resources/checkpoints"
HOME = "sources/0/dynamic-kafka"
DECISION = {
    "version": 2,
    "queryId": "q",
    "transactions": [
        {"cluster": "blue", "transactionalId": "p-q-i-3-blue-0.1-0-0.0", "topics": ["t"]},
        {"cluster": "green", "transactionalId": "p-q-i-3-green-0.1-0-0.0", "topics": ["t"]},
    ],
    "clusters": {"blue": {"properties": {"bootstrap.servers": "blue:9092"}}, "green": {"properties": {}}},
    "leftOut": ["blue"],
}


def run(*arguments: object, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return result


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """The connector's golden checkpoint, whose newest batch is finished, with all files that it may contain."""
    checkpoint = Path(shutil.copytree(RESOURCES / "0.1.0", tmp_path / "checkpoint"))
    (checkpoint / "commits/1").write_text("v1\n{}")
    for file in ("offsets/1", "metadata"):
        (checkpoint / file).with_name(f".{Path(file).name}.crc").write_bytes(b"crc\0\1\2")
    (checkpoint / HOME / "latest.json").write_text('{"version":2,"clusters":{"blue":{"golden-orders":{"0":9}}}}')
    last = '{"version":2,"clusters":{"blue":{"golden-orders":{"0":9}}}}'
    (checkpoint / HOME / "entries.json").write_text(last)
    for topology in (checkpoint / HOME / "topology").glob("*.json"):
        options = {"cluster.blue.maxOffsetsPerTrigger": "5", "streamIds": "golden"}
        topology.write_text(compact({**json.loads(topology.read_text()), "options": options}))
    parts = ",".join(f'"{part}":{last}' for part in ("offsets", "times"))
    (checkpoint / HOME / "read.json").write_text(f'{{"version":1,{parts}}}')
    (checkpoint / HOME / "deferred").mkdir()
    deferral = {"version": 1, "start": "s", "end": "e", "clusters": {"blue": {"topics": {}}}}
    (checkpoint / HOME / "deferred/0.json").write_text(compact(deferral))
    (checkpoint / HOME / "deferred/0.entered").touch()
    sink = checkpoint / "dynamic-kafka-sink"
    sink.mkdir()
    for batch in (0, 1):
        text = compact({**DECISION, "batch": batch})
        (sink / f"{batch}-0.json").write_text(text)
        (sink / f"{batch}-0.done").write_text(hashlib.sha256(text.encode()).hexdigest())
    (sink / "slot-0a.json").write_text(
        compact({"slot": "p-q-i-3", "cluster": "blue", "epoch": 1, "location": "l"})
    )
    (sink / "run-5.json").write_text(compact({"queryId": "q", "run": "r", "instance": "i", "location": "l"}))
    return checkpoint


def offset(checkpoint: Path) -> composite.CompositeOffset:
    return composite.read(read_batch(checkpoint, 1).offsets[0] or "")


def test_a_cluster_is_renamed_everywhere(checkpoint: Path) -> None:
    before, was = files(checkpoint), offset(checkpoint)
    found = json.loads(run("rename-cluster", checkpoint, "blue", "azure", "--json").stdout)
    topologies = sorted(name for name in before if name.startswith(f"{HOME}/topology/"))
    sink = [
        f"dynamic-kafka-sink/{name}" for name in ("0-0.done", "0-0.json", "1-0.done", "1-0.json", "slot-0a.json")
    ]
    names = ("deferred/0.json", "entries.json", "initial.json", "latest.json", "read.json")
    source = [f"{HOME}/{name}" for name in names]
    assert found == {
        "batch": 1,
        "old": "blue",
        "new": "azure",
        "files": sorted([*sink, *source, *topologies, "offsets/1"]),
    }
    after = files(checkpoint)
    assert "azure" not in str({name: before[name] for name in before})
    for name in found["files"]:
        assert (b'"blue"' in before[name]) == (b'"azure"' in after[name]), name
        assert b'"blue"' not in after[name], name
    for name in topologies:
        options = {"cluster.azure.maxOffsetsPerTrigger": "5", "streamIds": "golden"}
        assert json.loads(after[name])["options"] == options
    now = offset(checkpoint)
    assert now.clusters == {("azure" if id == "blue" else id): of for id, of in was.clusters.items()}
    assert now.identities["azure"] == was.identities["blue"]
    assert (now.retained, now.draining) == (was.retained, was.draining)
    # The connector compares the mark with the digest of the decision.
    decision = json.loads(after["dynamic-kafka-sink/1-0.json"])
    assert (
        after["dynamic-kafka-sink/1-0.done"].decode()
        == hashlib.sha256(after["dynamic-kafka-sink/1-0.json"]).hexdigest()
    )
    assert [transaction["cluster"] for transaction in decision["transactions"]] == ["azure", "green"]
    assert decision["transactions"][0]["transactionalId"] == "p-q-i-3-blue-0.1-0-0.0"
    assert (sorted(decision["clusters"]), decision["leftOut"]) == (["azure", "green"], ["azure"])
    # Spark would refuse the file with the checksum of its former content.
    assert "offsets/.1.crc" not in after
    unchanged = {name for name in before if name not in found["files"] and name != "offsets/.1.crc"}
    assert {name: before[name] for name in unchanged} == {name: after[name] for name in unchanged}


def test_no_file_of_the_source_is_left_out(checkpoint: Path) -> None:
    sources = (REPOSITORY / "jvm/connector/src/main/scala/io/github/dynamickafka/source").rglob("*.scala")
    written = {name for file in sources for name in re.findall(r'new Path\(home, "([^"]+)"\)', file.read_text())}
    assert written == {file.name for file in (checkpoint / HOME).iterdir()}


def test_restore_undoes_it_to_the_byte(checkpoint: Path) -> None:
    before = files(checkpoint)
    changed = json.loads(run("rename-cluster", checkpoint, "blue", "azure", "--json").stdout)
    found = json.loads(run("restore", checkpoint, "--json").stdout)
    assert found == {"edit": "rename-cluster blue azure", "batch": 1, "files": changed["files"]}
    assert files(checkpoint) == before
    assert not (checkpoint / "dynamic-kafka-edits").exists()
    assert "there is no edit" in run("restore", checkpoint, exit_code=1).stderr


def test_edits_are_undone_one_after_the_other(checkpoint: Path) -> None:
    states = []
    for old, new in (("blue", "azure"), ("green", "emerald"), ("azure", "blue")):
        states.append(files(checkpoint))
        run("rename-cluster", checkpoint, old, new)
    for state in reversed(states):
        assert run("restore", checkpoint).stdout.startswith("undone: rename-cluster ")
        assert files(checkpoint) == state


def test_text(checkpoint: Path) -> None:
    lines = run("rename-cluster", checkpoint, "green", "emerald").stdout.splitlines()
    assert lines[0] == "after batch 1, cluster green is emerald in"
    assert "  offsets/1" in lines


@pytest.mark.parametrize("case", [case for case in cases("offsets") if "refused" not in case], ids=str)
def test_every_form_of_an_offset(case: dict[str, Any]) -> None:
    text = case["offset"]
    offset = composite.read(text)
    for id in sorted({*offset.clusters, *offset.retained, *offset.draining}):
        once = composite_text.renamed(text, id, "zz")
        assert composite.read(composite_text.renamed(once, "zz", id)) == offset
        assert f'"{id}":' not in once
        assert list(composite.read(once).clusters) == sorted(composite.read(once).clusters)
    assert composite_text.renamed(text, "none", "zz") == text


def test_a_log_of_version_2_with_names(checkpoint: Path) -> None:
    (checkpoint / "sources/0").rename(checkpoint / "sources/first")
    version, metadata, text = (checkpoint / "offsets/1").read_text().split("\n")
    lines = ["v2", metadata, '1:{"orders":{"0":7}}', f"first:{text}"]
    (checkpoint / "offsets/1").write_text("\n".join(lines))
    found = json.loads(run("rename-cluster", checkpoint, "blue", "azure", "--json").stdout)
    assert "sources/first/dynamic-kafka/initial.json" in found["files"]
    renamed = (checkpoint / "offsets/1").read_text().split("\n")
    assert renamed[:3] == lines[:3]
    assert renamed[3] == f"first:{composite_text.renamed(text, 'blue', 'azure')}"
    assert version == "v1"


def log(checkpoint: Path, batch: int, text: str) -> None:
    (checkpoint / f"offsets/{batch}").write_text(f'v1\n{{"batchTimestampMs":1}}\n{text}')


def test_the_hand_over_of_a_history_is_renamed(checkpoint: Path) -> None:
    file = checkpoint / HOME / "initial.json"
    initial = json.loads(file.read_text())
    table = {"format": "json", "path": "/p", "options": {}, "schema": "{}", "files": []}
    initial["history"] = {
        "streams": {
            "a": {**table, "cluster": "blue", "files": [["/p/0", 1, 2]]},
            "b": {**table, "ends": {"blue": {"t": {"0": 6}}}, "files": [["/p/1", 1, 2, {"blue": [1, 2]}]]},
        },
        "offsets": {"blue": {"t": {"0": 7}}, "green": {"t": {"0": 8}}},
        "times": {"blue": {"u": {"0": 9}}},
        "topicTimes": {"blue": {"v": 10}},
    }
    file.write_text(compact(initial))
    run("rename-cluster", checkpoint, "blue", "azure")
    assert json.loads(file.read_text())["history"] == {
        "streams": {
            "a": {**table, "cluster": "azure", "files": [["/p/0", 1, 2]]},
            "b": {**table, "ends": {"azure": {"t": {"0": 6}}}, "files": [["/p/1", 1, 2, {"azure": [1, 2]}]]},
        },
        "offsets": {"azure": {"t": {"0": 7}}, "green": {"t": {"0": 8}}},
        "times": {"azure": {"u": {"0": 9}}},
        "topicTimes": {"azure": {"v": 10}},
    }


def test_a_packed_offset_is_renamed(checkpoint: Path) -> None:
    (packed,) = [
        case["offset"] for case in cases("offsets") if "refused" not in case and "packed" in case["offset"]
    ][:1]
    log(checkpoint, 1, packed)
    (id, *_) = composite.read(packed).clusters
    run("rename-cluster", checkpoint, id, "zz")
    assert "zz" in offset(checkpoint).clusters


REFUSED: dict[str, tuple[Callable[[Path], Any], str, str, str]] = {
    "an unfinished batch": (
        lambda c: (c / "commits/1").unlink(),
        "blue",
        "azure",
        "batch 1 of {c} is logged and not finished: start the query once more, with availableNow",
    ),
    "an id that is not known": (
        lambda c: None,
        "blu",
        "azure",
        "batch 1 of {c} has no cluster 'blu'. Did you mean 'blue'?",
    ),
    "an id that exists": (lambda c: None, "blue", "green", "batch 1 of {c} has a cluster 'green' already"),
    "an id that is no id": (lambda c: None, "blue", "a b", "'a b' is not a valid cluster id"),
    "an open decision": (
        lambda c: (c / "dynamic-kafka-sink/1-0.done").unlink(),
        "blue",
        "azure",
        "{c}/dynamic-kafka-sink/1-0.json: the decision is not finished. Start the query once more, or close",
    ),
    "a decision of another version": (
        lambda c: (c / "dynamic-kafka-sink/1-0.json").write_text('{"version":3}'),
        "blue",
        "azure",
        "{c}/dynamic-kafka-sink/1-0.json is damaged, or of another version",
    ),
    "a damaged topology": (
        lambda c: (c / HOME / "topology/1.json").write_text("{"),
        "blue",
        "azure",
        "topology/1.json is damaged, or of another version",
    ),
    "deferred records": (
        lambda c: (c / HOME / "deferred/1.json").write_text(
            compact({"end": hashlib.sha256((read_batch(c, 1).offsets[0] or "").encode()).hexdigest()})
        ),
        "blue",
        "azure",
        "records of batch 1 of {c} are deferred, and not read yet: start the query once more",
    ),
    "another source": (
        lambda c: log(c, 1, '{"orders":{"0":7}}'),
        "blue",
        "azure",
        "batch 1 of {c} has no offset of a dynamic-kafka source",
    ),
}


@pytest.mark.parametrize(("damage", "old", "new", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(damage: Callable[[Path], Any], old: str, new: str, says: str, checkpoint: Path) -> None:
    damage(checkpoint)
    before = files(checkpoint)
    result = run("rename-cluster", checkpoint, old, new, exit_code=1)
    assert says.format(c=checkpoint) in result.stderr
    assert result.stdout == ""
    assert files(checkpoint) == before


def test_a_later_batch_cannot_be_undone(checkpoint: Path) -> None:
    run("rename-cluster", checkpoint, "blue", "azure")
    log(checkpoint, 2, '{"version":2,"clusters":{"azure":{}}}')
    before = files(checkpoint)
    result = run("restore", checkpoint, exit_code=1)
    assert "it was made after batch 1, and the query has logged batch 2 since" in result.stderr
    assert files(checkpoint) == before


def test_an_unfinished_batch_is_not_undone(checkpoint: Path) -> None:
    run("rename-cluster", checkpoint, "blue", "azure")
    (checkpoint / "commits/1").unlink()
    before = files(checkpoint)
    assert f"batch 1 of {checkpoint} is logged and not finished" in run("restore", checkpoint, exit_code=1).stderr
    assert files(checkpoint) == before


def test_a_file_that_has_changed_since_is_not_overwritten(checkpoint: Path) -> None:
    run("rename-cluster", checkpoint, "blue", "azure")
    (checkpoint / "dynamic-kafka-sink/slot-0a.json").write_text("{}")
    before = files(checkpoint)
    result = run("restore", checkpoint, exit_code=1)
    assert "dynamic-kafka-sink/slot-0a.json has changed since" in result.stderr
    assert files(checkpoint) == before


def test_a_start_that_logs_no_batch_does_not_matter(checkpoint: Path) -> None:
    before = files(checkpoint)
    run("rename-cluster", checkpoint, "blue", "azure")
    # A start takes the file, and a stop leaves another one.
    (checkpoint / HOME / "latest.json").write_text('{"version":2,"clusters":{}}')
    run("restore", checkpoint)
    assert files(checkpoint) == before


class Killed(BaseException):
    """The process ends."""


@pytest.mark.parametrize("step", range(16))
def test_an_edit_that_is_interrupted_is_undone(
    checkpoint: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever the process is killed, in the edit and in its undoing, `restore` gives the former files."""
    before = files(checkpoint)
    real, calls = os.replace, []

    def replace(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == step + 1:
            raise Killed
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    for command in (["rename-cluster", checkpoint, "blue", "azure"], ["restore", checkpoint]):
        calls.clear()
        try:
            CliRunner().invoke(app, [*map(str, command)], standalone_mode=False, catch_exceptions=False)
        except Killed:
            edited = ["rename-cluster", checkpoint, "green", "emerald"]
            assert "was interrupted, or its undoing: run 'restore' first" in run(*edited, exit_code=1).stderr
            target = checkpoint.with_name("new")
            assert (
                "was interrupted" in run("migrate", checkpoint, "--to", target, "--to-kafka", exit_code=1).stderr
            )
            monkeypatch.setattr(os, "replace", real)
            run("restore", checkpoint)
            assert files(checkpoint) == before
            return
    assert files(checkpoint) == before
    assert step >= 11


def test_a_checkpoint_that_changes_meanwhile(checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.read_bytes

    def read_bytes(file: Path) -> bytes:
        content = real(file)
        if file == checkpoint / "offsets/1" and not (checkpoint / "offsets/2").exists():
            log(checkpoint, 2, "{}")
        return content

    monkeypatch.setattr(Path, "read_bytes", read_bytes)
    offsets = real(checkpoint / "offsets/1")
    result = run("rename-cluster", checkpoint, "blue", "azure", exit_code=1)
    assert f"{checkpoint} has changed meanwhile: stop its query first" in result.stderr
    assert real(checkpoint / "offsets/1") == offsets


def test_a_journal_that_cannot_be_read(checkpoint: Path) -> None:
    run("rename-cluster", checkpoint, "blue", "azure")
    record = checkpoint / "dynamic-kafka-edits/1/edit.json"
    for text, says in (("{", "is not an edit that this program wrote"), ('{"version":2}', "has version 2")):
        record.write_text(text)
        assert says in run("restore", checkpoint, exit_code=1).stderr
