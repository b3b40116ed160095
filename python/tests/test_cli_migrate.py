"""``migrate``: checkpoints of Spark's own Kafka source, as Spark has written them, and back."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from migrating import FORMS, GOLDEN, files, given, log, moved, new, old, run

from dynamic_kafka._tools.checkpoint import composite, plain
from dynamic_kafka._tools.checkpoint.log import read_batch
from dynamic_kafka._tools.checkpoint.migration import from_plain, to_plain

__all__ = ["moved", "new", "old"]


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
