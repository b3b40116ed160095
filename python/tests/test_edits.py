"""Edits of a metadata file: what changes, and that nothing else does."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dynamic_kafka._tools.cli.app import app
from dynamic_kafka._tools.metadata_file import edits
from dynamic_kafka._tools.metadata_file.edits import EditError, moved, with_state

SECRET = "hunter2"
FILE = f"""# The clusters of the shop.
version: 1
clusters:
  blue:   # the old data center
    properties:
      bootstrap.servers: "blue-1:9093"
      sasl.jaas.config: 'x required password="{SECRET}";'
  green: {{properties: {{bootstrap.servers: 'green-1:9092'}}}}

streams:
  orders:
    clusters:
      blue: {{topics: [orders]}}   # since 2021
      green:
        # Two topics, one for each region.
        topics:
          - orders-eu
          - orders-us
  payments:
    clusters:
      blue:
        topics: [payments]
        starting_offsets: earliest # all of them
"""


def edited(old: str, new: str, text: str = FILE) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert SECRET not in result.output + result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("streams.yaml").write_text(FILE)
    return Path("streams.yaml")


def test_drain_every_stream(file: Path) -> None:
    result = run("drain", file, "blue")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "~ stream orders, cluster blue drains",
        "~ stream payments, cluster blue drains",
    ]
    drained = edited("topics: [orders]}", "topics: [orders], state: draining}")
    assert file.read_text() == edited(
        "earliest # all of them\n", "earliest # all of them\n        state: draining\n", drained
    )


def test_drain_one_stream_and_activate_it_again(file: Path) -> None:
    assert run("drain", file, "blue", "--stream", "payments").exit_code == 0
    assert file.read_text() == edited("# all of them\n", "# all of them\n        state: draining\n")
    result = run("activate", file, "blue")
    assert result.stdout == "~ stream payments, cluster blue is active again\n"
    assert file.read_text() == edited("# all of them\n", "# all of them\n        state: active\n")
    before = file.stat().st_mtime_ns, file.stat().st_ino
    result = run("activate", file, "blue")
    assert (result.exit_code, result.stdout) == (0, "streams.yaml: nothing to change\n")
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_a_value_keeps_its_quotes(file: Path) -> None:
    text = edited("[orders]}", "[orders], state: 'removed'}")
    assert with_state(text, "blue", "draining", "orders") == text.replace("'removed'", "'draining'")


def test_a_block_without_a_line_that_ends(file: Path) -> None:
    assert with_state(FILE, "green", "draining") == edited(
        "        topics:\n          - orders-eu\n",
        "        state: draining\n        topics:\n          - orders-eu\n",
    )


def test_json_of_an_edit(file: Path) -> None:
    answer = json.loads(run("drain", file, "blue", "--stream", "orders", "--json").stdout)
    assert answer["file"] == "streams.yaml"
    (change,) = answer["changes"]
    assert change == {
        "what": "state",
        "how": "drains",
        "stream": "orders",
        "cluster": "blue",
        "name": None,
        "old": "active",
        "new": "draining",
    }


def test_move(file: Path) -> None:
    result = run("move", file, "--stream", "payments", "--from", "blue", "--to", "green")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "~ stream payments, cluster blue drains",
        "+ stream payments, cluster green enters",
    ]
    there = "# all of them\n        state: draining\n      green: {topics: [payments]}\n"
    assert file.read_text() == edited("# all of them\n", there)
    again = run("move", file, "--stream", "payments", "--from", "blue", "--to", "green")
    assert (again.exit_code, again.stdout) == (0, "streams.yaml: nothing to change\n")


def test_move_takes_over_topics() -> None:
    text = edited(
        "{topics: [orders]}",
        "{topic_pattern: 'a, .*', write: false, starting_offsets: latest, registry: 'http://x'}",
    )
    text = text.replace("  green: {", "  red: {properties: {bootstrap.servers: r}}\n  green: {")
    lines = moved(text, "orders", "blue", "red").splitlines()
    assert lines[lines.index("      green:") - 1] == '      red: {topic_pattern: "a, .*"}'


JSON = """{
\t"version": 1,
  "clusters": {"blue": {"properties": {"bootstrap.servers": "b:1"}},
               "green": {"properties": {"bootstrap.servers": "g:1"}}},
  "streams": {
    "a\\/b": {
      "clusters": {
        "blue": {
          "topics": ["x"]
        }
      }
    }
  }
}
"""


def test_json_documents() -> None:
    drained = with_state(JSON, "blue", "draining")
    assert drained == edited('"topics": ["x"]\n', '"topics": ["x"],\n          "state": "draining"\n', JSON)
    assert json.loads(drained)
    end = "        }\n      }\n    }\n"
    assert moved(JSON, "a/b", "blue", "green") == edited(
        end, '        },\n        "green": {"topics": ["x"]}\n      }\n    }\n', drained
    )


ANCHORS = """version: 1
clusters:
  blue: {properties: &p {bootstrap.servers: b}}
  green: {properties: *p}
streams:
  orders:
    clusters:
      blue: &entry {topics: [orders]} # both alike
      green: *entry
  payments:
    clusters:
      blue:
        <<: *entry
"""


def test_an_anchor_that_others_use() -> None:
    assert with_state(ANCHORS, "green", "draining") == edited(
        "green: *entry", "green: {<<: *entry, state: draining}", ANCHORS
    )
    # The others keep their states.
    drained = edited("[orders]}", "[orders], state: draining}", ANCHORS)
    drained = edited("green: *entry", "green: {<<: *entry, state: active}", drained)
    assert with_state(ANCHORS, "blue", "draining", "orders") == edited(
        "        <<: *entry\n", "        <<: *entry\n        state: active\n", drained
    )


def test_what_has_to_be_changed_by_hand() -> None:
    text = edited("  payments:\n", "  returns: *o\n  payments:\n", edited("  orders:\n", "  orders: &o\n"))
    for stream in ("orders", "returns"):
        with pytest.raises(EditError, match="anchor or a merge key"):
            with_state(text, "blue", "draining", stream)
    text = edited("streams:\n", "  red: {properties: {bootstrap.servers: r}}\nstreams:\n", text)
    for stream in ("orders", "returns"):
        with pytest.raises(EditError, match="anchor or a merge key"):
            moved(text, stream, "blue", "red")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("drain", "gren"), "'clusters' has no cluster 'gren'. Did you mean 'green'?"),
        (("drain", "blue", "--stream", "oders"), "there is no stream 'oders'. Did you mean 'orders'?"),
        (("activate", "green", "--stream", "payments"), "stream 'payments' is not on cluster 'green'."),
        (("activate", "bleu", "--stream", "orders"), "is not on cluster 'bleu'. Did you mean 'blue'?"),
        (("move", "--stream", "orders", "--from", "blue", "--to", "gren"), "Did you mean 'green'?"),
        (("move", "--stream", "orders", "--from", "bleu", "--to", "green"), "Did you mean 'blue'?"),
        (("move", "--stream", "oders", "--from", "blue", "--to", "green"), "Did you mean 'orders'?"),
        (("move", "--stream", "orders", "--from", "blue", "--to", "blue"), "to itself"),
        (("move", "--stream", "orders", "--from", "blue", "--to", "green"), "has cluster 'green' already"),
    ],
)
def test_refused(file: Path, arguments: tuple[str, ...], says: str) -> None:
    command, *rest = arguments
    result = run(command, file, *rest)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert says in result.stderr and result.stderr.startswith("streams.yaml: ")
    assert file.read_text() == FILE


def test_a_cluster_that_no_stream_uses(file: Path) -> None:
    file.write_text(edited("streams:\n", "  red: {properties: {bootstrap.servers: r}}\nstreams:\n"))
    assert run("drain", file, "red").stderr == "streams.yaml: no stream is on cluster 'red'\n"


def test_an_invalid_file_is_not_touched(file: Path) -> None:
    text = edited("version: 1", "version: 2")
    file.write_text(text)
    result = run("drain", file, "blue")
    assert result.exit_code == 1
    assert "streams.yaml:2: key 'version'" in result.stderr
    assert file.read_text() == text


def test_flinks_list(file: Path) -> None:
    file.write_text("- {streamId: a, clusterMetadataList: [{clusterId: b, bootstrapServers: b, topics: [a]}]}\n")
    assert "Flink's list of streams has no states" in run("drain", file, "b").stderr


def test_a_file_keeps_its_mode_and_its_links(file: Path) -> None:
    file.chmod(0o640)
    Path("link.yaml").symlink_to(file)
    assert run("drain", "link.yaml", "blue").exit_code == 0
    assert Path("link.yaml").is_symlink()
    assert file.stat().st_mode & 0o777 == 0o640
    assert "draining" in file.read_text()
    assert sorted(os.listdir()) == ["link.yaml", "streams.yaml"]


def test_a_file_that_changes_meanwhile(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(text: str, *_: Any) -> str:
        file.write_text(f"{text}# a colleague\n")
        return text.replace("[orders]}", "[orders], state: draining}")

    monkeypatch.setattr(edits, "with_state", slow)
    result = run("drain", file, "blue")
    assert (result.exit_code, result.stderr) == (
        1,
        "streams.yaml: it was changed meanwhile, run the command again\n",
    )
    assert file.read_text() == f"{FILE}# a colleague\n"
