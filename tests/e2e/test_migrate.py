"""Queries with state move from Spark's own Kafka source to this one and back; checkpoints are edited on the way."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from dynamic_kafka_testkit import Cluster, Record

from tests.harness import stateful_program
from tests.harness.command import command
from tests.harness.metadata import MetadataFile
from tests.harness.scala_compiler import compiled
from tests.harness.stateful_program import COPIES, QUERIES, TOPICS

Rows = dict[str, Counter[tuple[Any, ...]]]

# Spark keeps the state of `distinct` as that of `aggregation`, and of `transformed` as that of `transformed-python`.
_ALIKE = () if os.environ.get("TESTS") == "all" else ("distinct", "transformed")
MIGRATED = tuple(query for query in QUERIES if query not in _ALIKE)


@pytest.mark.test_all
def test_state_is_kept_over_a_migration_and_back(testkit: Any, tmp_path: Path) -> None:
    cluster = testkit.start("moved")
    for topic in (*TOPICS, COPIES):
        cluster.create_topic(topic, 2)
    plain = {"kafka.bootstrap.servers": cluster.bootstrap_servers, "startingOffsets": "earliest"}
    log = _Log(cluster)
    blue, green = (_metadata(tmp_path, id, cluster) for id in ("blue", "green"))
    with _program(tmp_path) as run:
        log.produce(7)
        old = tmp_path / "old"
        log.check(run("kafka", plain, old, blue))

        new = tmp_path / "new"
        for query in MIGRATED:
            # A typing error, which is noticed at the first start.
            id = "bleu" if query == "aggregation" else "blue"
            found = _command("migrate", old / query, "--to", new / query, *_clusters(query, id))
            assert _offsets(found) == log.ends(query)
        # The new checkpoint does not depend on the old one.
        shutil.rmtree(old)
        ((_, text),) = run("dynamic-kafka", _options(blue), new, blue, ["aggregation"])["aggregation"]
        assert "MIGRATION_MISMATCH" in text and "lacks cluster 'bleu'. Did you mean 'blue'?" in text
        _command("rename-cluster", new / "aggregation", "bleu", "blue")
        log.produce(5)
        log.check(run("dynamic-kafka", _options(blue), new, blue))

        for query in MIGRATED:
            before = _files(new / query)
            _command("rename-cluster", new / query, "blue", "green")
            _command("restore", new / query)
            assert _files(new / query) == before
            _command("rename-cluster", new / query, "blue", "green")
        _check_reset(new / "join", green, log.ends("join"))
        log.produce(4)
        log.check(run("dynamic-kafka", _options(green), new, green))

        back = tmp_path / "back"
        for query in MIGRATED:
            found = _command("migrate", new / query, "--to", back / query, "--to-kafka")
            assert _offsets(found) == log.ends(query)
        new.rename(tmp_path / "hidden")
        log.produce(6)
        log.check(run("kafka", plain, back, green))

        # A query continues where it was reset to.
        (tmp_path / "hidden").rename(new)
        _command("reset", new / COPIES, "--cluster", "green", "--metadata", green, "--to", "earliest")
        run("dynamic-kafka", _options(green), new, green)
        log.check_copies(times=2)


class _Log:
    """What is in Kafka, and what the queries have to write next."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._records: dict[str, list[Record]] = {topic: [] for topic in TOPICS}
        self._written: Rows = {query: Counter() for query in MIGRATED}

    def produce(self, count: int) -> None:
        """Produce records, most of which have keys that exist."""
        for topic, records in self._records.items():
            start = len(records)
            more = [Record(n % 2, f"k{n % 5}", f"{topic}-{n}") for n in range(start, start + count)]
            more.append(Record(0, f"new-{start}", f"{topic}-new-{start}"))
            self._cluster.produce(topic, more)
            records += more

    def check(self, rows: Rows) -> None:
        """Compare what one run has written with what a run over everything would add."""
        orders, payments = (self._records[topic] for topic in TOPICS)
        counts: Counter[tuple[Any, ...]] = Counter(Counter(record.key for record in orders).items())
        everything: Rows = {
            "aggregation": counts,
            "join": Counter((o.value, p.value) for o in orders for p in payments if o.key == p.key),
            "transformed": counts,
            "transformed-python": counts,
            "distinct": Counter({(record.key,): 1 for record in orders}),
            COPIES: Counter(),
        }
        for query, written in rows.items():
            assert written == everything[query] - self._written[query], query
        self._written = everything
        self.check_copies()

    def check_copies(self, times: int = 1) -> None:
        """Compare what was written to Kafka with the orders, each of which was written as often."""
        copies = self._cluster.dump(COPIES, committed_only=True)
        orders = Counter(record.value for record in self._records["orders"])
        assert Counter(record.value for record in copies) == Counter({value: times for value in orders})

    def ends(self, query: str) -> dict[str, dict[str, int]]:
        topics = TOPICS if query == "join" else TOPICS[:1]
        return {topic: {str(p): end for p, end in self._cluster.end_offsets(topic).items()} for topic in topics}


@contextmanager
def _program(folder: Path) -> Iterator[Any]:
    jar = compiled(Path(stateful_program.__file__).with_name("KeyCounts.scala"), folder)
    with (folder / "program.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.stateful_program", str(jar)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield lambda *command: _run(process.stdin, process.stdout, *command)
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        print((folder / "program.log").read_text()[-20_000:])


def _run(
    stdin: IO[str],
    stdout: IO[str],
    source: str,
    options: Mapping[str, str],
    checkpoints: Path,
    streams: Path,
    queries: Iterable[str] = MIGRATED,
) -> Rows:
    places = {"checkpoints": str(checkpoints), "streams": str(streams)}
    command = {"source": source, "options": options, "queries": list(queries), **places}
    stdin.write(json.dumps(command) + "\n")
    stdin.flush()
    return {query: Counter(map(tuple, rows)) for query, rows in json.loads(stdout.readline()).items()}


def _metadata(folder: Path, id: str, cluster: Cluster) -> Path:
    file = MetadataFile(folder / f"{id}.json").cluster(id, cluster.bootstrap_servers)
    for topic in (*TOPICS, COPIES):
        file.stream(topic, {id: [topic]})
    return file.write().path


def _options(metadata: Path) -> dict[str, str]:
    return {"metadataService": "file", "metadataService.path": str(metadata)}


def _check_reset(checkpoint: Path, metadata: Path, ends: Mapping[str, Mapping[str, int]]) -> None:
    """Reset the query, and undo it."""
    before = _files(checkpoint)
    reset = ("reset", checkpoint, "--cluster", "green", "--metadata", metadata, "--to")
    assert _command(*reset, "latest") == {"changes": []}
    changes = _command(*reset, "earliest")["changes"]
    assert [(change["from"], change["to"]) for change in changes] == [
        (end, 0) for topic in sorted(ends) for end in ends[topic].values()
    ]
    # The former end, because no record is as late.
    changes = _command(*reset, "timestamp:99999999999999")["changes"]
    assert [change["to"] for change in changes] == [end for topic in sorted(ends) for end in ends[topic].values()]
    for _ in range(2):
        _command("restore", checkpoint)
    assert _files(checkpoint) == before


def _clusters(query: str, id: str) -> list[str]:
    return ["--cluster", f"0={id}", "--cluster", f"1={id}"] if query == "join" else ["--cluster", id]


def _command(*arguments: object) -> Any:
    reply = command(*arguments, "--json")
    assert reply.exit_code == 0, reply.stderr
    return reply.json


def _offsets(found: Any) -> dict[str, dict[str, int]]:
    return {topic: of for source in found["sources"] for topic, of in source["offsets"].items()}


def _files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
