"""``migrate``: checkpoints and targets that it refuses, also because they change meanwhile."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from migrating import GOLDEN, log, moved, new, old, run

from dynamic_kafka._tools.checkpoint import copying

__all__ = ["moved", "new", "old"]


def several(old: Path) -> None:
    for number in (3, 4):
        log(old, number, '{"orders":{"0":15}}', commit=False)


def emptied(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "an unfinished batch": (
        lambda old: log(old, 3, '{"orders":{"0":15}}', commit=False),
        "batch 3 of {old} is logged and not finished: start the old query once more, with availableNow",
    ),
    "several": (
        lambda old: several(old),
        "batches 3, 4 of {old} are logged and not finished: start the old query once more, with availableNow",
    ),
    "nothing committed": (
        lambda old: shutil.rmtree(old / "commits"),
        "nothing is committed in {old}, which has planned batch 0, 1, 2: start the old query once more",
    ),
    "a source that has moved": (
        lambda old: log(old, 3, '{"version":2,"clusters":{"blue":{"orders":{"0":5}}}}'),
        "source 0 of batch 3 of {old} is a dynamic-kafka source already",
    ),
    "no source of Kafka": (
        lambda old: log(old, 3, '{"offset":6,"timestamp":3000}', "4"),
        "batch 3 of {old} has no offset of Spark's kafka source",
    ),
    "a lost offset": (
        lambda old: (old / "offsets/2").unlink(),
        "batch 2 of {old} is committed, but the newest batch in 'offsets' is 1",
    ),
    "no log": (lambda old: shutil.rmtree(old / "offsets"), "has no folder 'offsets'"),
    "an empty log": (lambda old: emptied(old / "offsets"), "has not planned a batch yet"),
    "a later offset log": (
        lambda old: (old / "offsets/2").write_text("v3\n{}"),
        "{old}/offsets/2: this release supports versions v1, v2 of Spark's offset log",
    ),
    "a later commit log": (
        lambda old: (old / "commits/2").write_text("v4\n{}"),
        "{old}/commits/2: this release supports versions v1, v2, v3 of Spark's commit log",
    ),
    "a line without a source": (
        lambda old: (old / "offsets/2").write_text("v2\n{}\n{}"),
        "{old}/offsets/2: a line of an offset does not begin with the id of its source",
    ),
    "a truncated entry": (lambda old: (old / "offsets/2").write_text("v1"), "{old}/offsets/2 is truncated"),
    "a negative offset": (
        lambda old: log(old, 3, '{"orders":{"0":-2}}'),
        "source 0 of batch 3 of {old}: topic 'orders', partition 0 has the offset -2",
    ),
    "text that is no text": (lambda old: (old / "offsets/2").write_bytes(b"\xff"), "can't decode byte"),
}


@pytest.mark.parametrize(("damage", "says"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(damage: Callable[[Path], Any], says: str, old: Path, new: Path) -> None:
    damage(old)
    for more in ([], ["--dry-run"], ["--json"]):
        result = run(old, "--to", new, "--cluster", "blue", *more, exit_code=1)
        assert says.format(old=old) in result.stderr
        assert result.stdout == ""
        assert not new.exists()


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        (
            ["blue"],
            "the query has several sources of Spark's kafka format: use --cluster 0=ID --cluster 2=ID",
        ),
        (["0=blue"], "there is no cluster for source 2: use --cluster 0=ID --cluster 2=ID"),
        (["0=blue", "1=green", "2=red"], "'1' is not a source of Spark's kafka format: use --cluster 0=ID"),
        (["0=blue", "0=green"], "source 0 has two clusters: use --cluster 0=ID --cluster 2=ID"),
        (["0=blue", "2=gr een"], "'gr een' is not a valid cluster id: a cluster id has 1 to 128 letters"),
        (["0=blue", "2="], "'' is not a valid cluster id"),
    ],
)
def test_clusters_that_are_refused(ids: list[str], says: str, new: Path) -> None:
    arguments = [argument for id in ids for argument in ("--cluster", id)]
    result = run(GOLDEN / "several-sources-4.2.0", "--to", new, *arguments, exit_code=1)
    assert says in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--to", "x"],
        ["--cluster", "blue"],
        ["--to", "x", "--cluster", "blue", "--to-kafka"],
        ["--to", "x", "--cluster", "blue", "--drop-retained"],
    ],
)
def test_wrong_use(arguments: list[str], old: Path) -> None:
    run(old, *arguments, exit_code=2)


def test_targets_that_are_refused(old: Path, new: Path) -> None:
    new.mkdir()
    (new / "something").touch()
    assert f"{new} is not empty" in run(old, "--to", new, "--cluster", "blue", exit_code=1).stderr
    assert (
        f"{new}/something is not empty"
        in run(old, "--to", new / "something", "--cluster", "blue", exit_code=1).stderr
    )
    for target, says in (
        (old, f"{old} is the checkpoint itself"),
        (old / "new", f"{old}/new is in the checkpoint {old}:"),
        (old.parent, f"{old.parent} contains the checkpoint {old}:"),
    ):
        result = run(old, "--to", target, "--cluster", "blue", exit_code=1)
        assert says in result.stderr
    # A folder that is no checkpoint is the mistake, and not where the new one is.
    result = run(old.parent, "--to", old / "new", "--cluster", "blue", exit_code=1)
    assert result.stderr.startswith(f"{old.parent} is not a checkpoint of a streaming query")


def test_an_empty_target(old: Path, new: Path) -> None:
    new.mkdir()
    run(old, "--to", new, "--cluster", "blue")
    assert (new / "offsets/2").is_file()


def later(old: Path) -> None:
    log(old, 3, '{"orders":{"0":15,"1":10}}')


CHANGES: dict[str, Callable[[Path], Any]] = {
    "a batch": later,
    "a file that grows": lambda old: (old / "state/0/0/1.delta").open("ab").write(b"x"),
    "a file that is gone": lambda old: (old / "state/0/0/3.delta").unlink(),
    "a file that is copied already": lambda old: (old / "metadata").write_text("{}"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("at", [1, 6, 12])
def test_a_checkpoint_that_changes_while_it_is_copied(
    change: Callable[[Path], Any], at: int, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.copy2
    copied: list[object] = []

    def copy2(source: Path, target: Path) -> None:
        copied.append(source)
        if len(copied) == at:
            change(old)
        real(source, target)

    monkeypatch.setattr(shutil, "copy2", copy2)
    result = run(old, "--to", new, "--cluster", "blue", exit_code=1)
    assert len(copied) >= at
    assert f"{old} has changed while it was copied: stop its query first" in result.stderr
    assert sorted(path.name for path in new.parent.iterdir()) == ["old"]


def test_free_transactional_ids_that_the_sink_writes_after_the_end_of_the_query(
    old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = old / "dynamic-kafka-sink"
    sink.mkdir()
    for name in ("0-0.json", "slot-0a.json"):
        (sink / name).write_text("{}")
    real = shutil.copy2

    def copy2(source: Path, target: Path) -> None:
        (sink / "slot-0a.json").unlink(missing_ok=True)
        for name in ("slot-0b.json", ".slot-0b.json.crc", ".slot-0c.json.0a1b.TID7.tmp"):
            (sink / name).write_text("{}")
        real(source, target)

    monkeypatch.setattr(shutil, "copy2", copy2)
    run(old, "--to", new, "--cluster", "blue")
    assert [file.name for file in (new / "dynamic-kafka-sink").iterdir()] == ["0-0.json"]


def test_a_target_that_is_filled_meanwhile(old: Path, new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = copying.snapshot

    def filling(folder: Path) -> copying.Snapshot:
        new.mkdir()
        (new / "mine").touch()
        return real(folder)

    monkeypatch.setattr(copying, "snapshot", filling)
    run(old, "--to", new, "--cluster", "blue", exit_code=1)
    assert [path.name for path in new.iterdir()] == ["mine"]
    assert sorted(path.name for path in new.parent.iterdir()) == ["new", "old"]


@pytest.mark.parametrize(
    ("id", "topics", "says"),
    [
        ("blue", "topics: [orders]", None),
        ("blue", "partitions: {orders: [0, 1]}", None),
        ("blue", "topic_pattern: 'ord.*'", None),
        ("bleu", "topics: [orders]", "no stream has a cluster 'bleu'. Did you mean 'blue'?"),
        (
            "blue",
            "topics: [order]",
            "no stream has topic 'orders' on cluster 'blue', which source 0 reads. Did you mean 'order'?",
        ),
    ],
)
def test_the_metadata_have_the_cluster_and_its_topics(
    id: str, topics: str, says: str | None, old: Path, new: Path
) -> None:
    file = old.parent / "streams.yaml"
    file.write_text(
        "version: 1\n"
        'clusters: {blue: {properties: {bootstrap.servers: "blue:9092"}}}\n'
        f"streams: {{orders: {{clusters: {{blue: {{{topics}}}}}}}}}\n"
    )
    result = run(old, "--to", new, "--cluster", id, "--metadata", file, exit_code=1 if says else 0)
    assert new.exists() == (says is None)
    assert result.stderr.strip() == (f"{file}: {says}" if says else "")
    run(new if says is None else old, "--to", old.parent / "x", "--to-kafka", "--metadata", file, exit_code=2)
