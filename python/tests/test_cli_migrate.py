"""``migrate``: checkpoints of Spark's own Kafka source, as Spark has written them, and back."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from conftest import REPOSITORY

from dynamic_kafka._tools.checkpoint import composite, copying, plain
from dynamic_kafka._tools.checkpoint.log import read_batch
from dynamic_kafka._tools.checkpoint.migration import from_plain, to_plain
from dynamic_kafka._tools.cli.app import app

GOLDEN = REPOSITORY / "tests/conformance/checkpoints"
CLUSTERS = {
    "several-sources": ["0=blue", "2=green"],
    "offsets-2": ["0=blue", "2=green"],
    "names": ["second=blue", "first=green"],
    "aggregation": ["blue"],
    "commits-2": ["blue"],
}
FORMS = sorted(folder.name for folder in GOLDEN.iterdir())


def clusters(form: str) -> list[str]:
    return CLUSTERS[form.rpartition("-")[0]]


def run(*arguments: object, exit_code: int = 0) -> Result:
    result = CliRunner().invoke(app, ["migrate", *map(str, arguments)])
    assert result.exit_code == exit_code, result.output
    return result


def given(form: str) -> list[str]:
    return [argument for id in clusters(form) for argument in ("--cluster", id)]


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A checkpoint of one Kafka source with state."""
    return Path(shutil.copytree(GOLDEN / "aggregation-4.2.0", tmp_path / "old"))


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new"


@pytest.fixture
def moved(old: Path, tmp_path: Path) -> Path:
    """A checkpoint that was migrated."""
    run(old, "--to", tmp_path / "moved", "--cluster", "blue")
    return tmp_path / "moved"


def log(checkpoint: Path, batch: int, *offsets: str, commit: bool = True) -> None:
    text = "\n".join(["v1", '{"batchWatermarkMs":0,"batchTimestampMs":1}', *offsets])
    (checkpoint / "offsets" / str(batch)).write_text(text)
    if commit:
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


@pytest.mark.parametrize("form", FORMS)
def test_every_form_there_and_back(form: str, new: Path, tmp_path: Path) -> None:
    before = files(GOLDEN / form)
    found = json.loads(run(GOLDEN / form, "--to", new, *given(form), "--json").stdout)
    assert (found["batch"], found["dry_run"]) == (2, False)
    assert files(GOLDEN / form) == before
    back = tmp_path / "back"
    assert json.loads(run(new, "--to", back, "--to-kafka", "--json").stdout) == found
    for number in range(3):
        was, moved, now = (read_batch(folder, number) for folder in (GOLDEN / form, new, back))
        assert was.version == moved.version == now.version
        assert was.metadata == moved.metadata == now.metadata
        assert list(was.offsets) == list(moved.offsets) == list(now.offsets)
        for source, text in was.offsets.items():
            assert text is not None
            positions = plain.read(text)
            if positions is None:
                assert moved.offsets[source] == now.offsets[source] == text
                continue
            (cluster,) = [entry["cluster"] for entry in found["sources"] if entry["source"] == source]
            assert composite.read(moved.offsets[source] or "").clusters == {cluster: positions}
            assert plain.read(now.offsets[source] or "") == positions


@pytest.mark.parametrize("form", FORMS)
def test_all_but_the_kafka_sources_is_copied(form: str, new: Path) -> None:
    run(GOLDEN / form, "--to", new, *given(form))
    before, after = files(GOLDEN / form), files(new)
    kept = {name for name in before if name.split("/")[0] not in ("offsets", "sources")}
    assert {"metadata", "commits/2"} <= kept
    assert {name: before[name] for name in kept} == {name: after[name] for name in kept}
    # Checksums of Spark's file system would be those of the former offsets.
    assert set(after) - kept == {f"offsets/{number}" for number in range(3)}
    assert [path.name for path in new.parent.iterdir()] == [new.name]


def test_state_is_copied(old: Path, new: Path) -> None:
    run(old, "--to", new, "--cluster", "blue")
    state = {name: text for name, text in files(old).items() if name.startswith("state/")}
    assert len(state) > 5
    assert state.items() <= files(new).items()


def operator_metadata(checkpoint: Path, operator: int, *schemas: str) -> Path:
    """What an operator with `transformWithState` has in a checkpoint, in part."""
    file = checkpoint / f"state/{operator}/_metadata/v2/0"
    file.parent.mkdir(parents=True, exist_ok=True)
    stores = [{"storeName": "default", "numPartitions": 2, "stateSchemaFilePaths": schemas}]
    root = {"operatorInfo": {"operatorId": operator}, "stateStoreInfo": stores, "operatorPropertiesJson": "{}"}
    file.write_text("v2\n" + json.dumps(root, separators=(",", ":")))
    file.with_name(".0.crc").write_bytes(b"crc")
    return file


def test_the_schemas_of_state_are_those_of_the_copy(old: Path, new: Path, tmp_path: Path) -> None:
    name = "state/1/_stateSchema/default/0_b0"
    link = tmp_path / "link"
    link.symlink_to(old)
    file = operator_metadata(old, 1, f"file:{old}/{name}", f"file:{link}/{name}")
    result = run(old, "--to", new, "--cluster", "blue")
    assert result.stderr == ""
    copied = new / file.relative_to(old)
    assert copied.read_text() == file.read_text().replace(str(old), str(new)).replace(str(link), str(new))
    assert not copied.with_name(".0.crc").exists()


def test_schemas_of_state_in_another_folder_are_named(old: Path, new: Path) -> None:
    schema = "s3a://lake/old/state/1/_stateSchema/default/0_b0"
    file = operator_metadata(old, 1, schema)
    result = run(old, "--to", new, "--cluster", "blue")
    assert result.stderr.strip() == (
        f"the state has its schema in {schema}, not in {old}: the query in {new} needs it too"
    )
    assert (new / file.relative_to(old)).read_bytes() == file.read_bytes()


def test_metadata_of_an_operator_that_spark_has_not_written(old: Path, new: Path) -> None:
    file = operator_metadata(old, 1)
    file.write_text("v2\n{}")
    assert (
        f"{file} is not the metadata of an operator"
        in run(old, "--to", new, "--cluster", "blue", exit_code=1).stderr
    )
    assert not new.exists()


def test_text(old: Path, new: Path) -> None:
    assert run(old, "--to", new, "--cluster", "blue").stdout.splitlines() == [
        f"the query continues in {new} after batch 2, at these offsets",
        "",
        "source  cluster  topic   partition  offset",
        "0       blue     orders          0      14",
        "0       blue     orders          1      10",
    ]


def test_json_of_a_dry_run_which_writes_nothing(old: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    result = run(old, "--to", tmp_path / "a" / "b", "--cluster", "blue", "--dry-run", "--json")
    assert json.loads(result.stdout) == {
        "batch": 2,
        "dry_run": True,
        "sources": [{"source": 0, "cluster": "blue", "offsets": {"orders": {"0": 14, "1": 10}}}],
    }
    assert sorted(tmp_path.rglob("*")) == before


def test_random_offsets_there_and_back_are_the_same(tmp_path: Path) -> None:
    draw = random.Random(7)
    for case in range(60):
        checkpoint = tmp_path / str(case)
        (checkpoint / "offsets").mkdir(parents=True)
        (checkpoint / "commits").mkdir()
        sources = draw.randint(1, 4)
        expected = {}
        for number in range(3):
            offsets = [
                {
                    f"t.{topic}-{draw.randint(0, 99)}": {
                        partition: draw.choice((0, 1, 2**31, 2**53 + 1, 2**63 - 1, draw.randint(0, 10**6)))
                        for partition in draw.sample(range(2000), draw.randint(0, 12))
                    }
                    for topic in range(draw.randint(0, 4))
                }
                for _ in range(sources)
            ]
            expected[number] = offsets
            log(checkpoint, number, *(json.dumps(of, separators=(",", ":")) for of in offsets))
        ids = [f"{source}={draw.choice(('blue', 'green'))}" for source in range(sources)]
        there = from_plain(checkpoint, ids)
        assert [of.offsets for of in there.sources] == expected[2]
        for number, text in there.logs.items():
            (checkpoint / "offsets" / str(number)).write_text(text)
        back = to_plain(checkpoint, drop_retained=False)
        assert [of.offsets for of in back.sources] == expected[2]
        for number, text in back.logs.items():
            assert [plain.read(line) for line in text.split("\n")[2:]] == expected[number]


def test_a_source_without_topics_yet(old: Path, new: Path) -> None:
    (old / "sources/0/0").write_bytes(b"\0v1\n{}")
    log(old, 3, "-")
    run(old, "--to", new, "--cluster", "blue")
    assert composite.read(read_batch(new, 3).offsets[0] or "").clusters == {"blue": {}}


def test_version_3_of_the_commit_log(old: Path, new: Path) -> None:
    file = old / "commits/2"
    file.write_text(file.read_text().replace("v1", "v3"))
    run(old, "--to", new, "--cluster", "blue")
    assert (new / "commits/2").read_text().startswith("v3\n")


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
    for target in (old, old / "new", old.parent):
        result = run(old, "--to", target, "--cluster", "blue", exit_code=1)
        assert "contain each other" in result.stderr


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


TWO = {
    "clusters": '{"version":2,"clusters":{"blue":{"orders":{"0":5}},"red":{"orders":{"0":5}}}}',
    "draining": '{"version":2,"clusters":{"blue":{"orders":{"0":5}}},"draining":{"red":{"orders":{"0":5}}}}',
    "retained": (
        '{"version":2,"clusters":{"blue":{"orders":{"0":5}}},'
        '"retained":{"red":{"topics":{"orders":{"since":1,"offsets":{"0":9}}}}}}'
    ),
}


@pytest.mark.parametrize(("section", "offset"), TWO.items(), ids=TWO)
def test_a_second_cluster_cannot_go_back(section: str, offset: str, moved: Path, new: Path) -> None:
    log(moved, 3, offset)
    result = run(moved, "--to", new, "--to-kafka", exit_code=1)
    assert f"source 0 of batch 3 of {moved} has several clusters" in result.stderr
    assert "red" in result.stderr
    assert section in result.stderr
    run(moved, "--to", new, "--to-kafka", "--drop-retained", exit_code=0 if section == "retained" else 1)
    if section == "retained":
        assert read_batch(new, 3).offsets == {0: '{"orders":{"0":5}}'}


def test_a_retained_topic_of_the_only_cluster_cannot_go_back(moved: Path, new: Path) -> None:
    log(moved, 3, TWO["retained"].replace("red", "blue").replace('"orders":{"since"', '"former":{"since"'))
    result = run(moved, "--to", new, "--to-kafka", exit_code=1)
    assert "retains offsets of topics on cluster blue (former)" in result.stderr
    assert "--drop-retained gives them up" in result.stderr
    run(moved, "--to", new, "--to-kafka", "--drop-retained")
    assert read_batch(new, 3).offsets == {0: '{"orders":{"0":5}}'}


def test_earlier_batches_may_have_had_other_clusters(moved: Path, new: Path) -> None:
    log(moved, 2, TWO["clusters"])
    log(moved, 3, '{"version":2,"clusters":{"blue":{"orders":{"0":6}}}}')
    run(moved, "--to", new, "--to-kafka")
    assert [read_batch(new, number).offsets[0] for number in (2, 3)] == [
        '{"orders":{"0":5}}',
        '{"orders":{"0":6}}',
    ]


def test_what_spark_does_not_have_is_said(moved: Path, new: Path) -> None:
    log(moved, 3, '{"version":2,"clusters":{"blue":{"orders":{"0":5}}},"draining":{"blue":{"orders":{"0":9}}}}')
    result = run(moved, "--to", new, "--to-kafka", "--json")
    assert "drain targets or ending offsets" in result.stderr
    assert json.loads(result.stdout)["sources"][0]["offsets"] == {"orders": {"0": 5}}


def test_deferred_records_cannot_go_back(moved: Path, new: Path) -> None:
    text = read_batch(moved, 2).offsets[0] or ""
    deferred = moved / "sources/0/dynamic-kafka/deferred"
    deferred.mkdir(parents=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (deferred / "2.json").write_text(json.dumps({"version": 1, "start": "", "end": digest, "clusters": {}}))
    result = run(moved, "--to", new, "--to-kafka", exit_code=1)
    assert f"records of batch 2 of {moved} are deferred, and not read yet" in result.stderr
    (deferred / "2.entered").touch()
    run(moved, "--to", new, "--to-kafka")


def test_nothing_to_take_back(old: Path, new: Path) -> None:
    result = run(old, "--to", new, "--to-kafka", exit_code=1)
    assert f"batch 2 of {old} has no offset of a dynamic-kafka source" in result.stderr


def test_edits_stay_behind(moved: Path, new: Path) -> None:
    assert CliRunner().invoke(app, ["rename-cluster", str(moved), "blue", "green"]).exit_code == 0
    run(moved, "--to", new, "--to-kafka")
    assert not (new / "dynamic-kafka-edits").exists()
