"""``migrate --to-kafka``: what can go back to Spark's own Kafka source."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from migrating import log, moved, new, old, run

from dynamic_kafka._tools.checkpoint.log import read_batch
from dynamic_kafka._tools.cli.app import app

__all__ = ["moved", "new", "old"]


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
    assert (
        f"batch 2 of {old} has no offset of a dynamic-kafka source: its query reads Spark's kafka source already"
        in (result.stderr)
    )


def test_edits_stay_behind(moved: Path, new: Path) -> None:
    assert CliRunner().invoke(app, ["rename-cluster", str(moved), "blue", "green"]).exit_code == 0
    run(moved, "--to", new, "--to-kafka")
    assert not (new / "dynamic-kafka-edits").exists()
