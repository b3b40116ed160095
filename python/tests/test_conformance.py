"""Metadata files, offsets and properties are handled as by the connector: both read tests/conformance."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conformance import cases
from conftest import REPOSITORY

from dynamic_kafka import ClusterMetadata, History
from dynamic_kafka._tools.checkpoint import composite
from dynamic_kafka._tools.checkpoint.composite import Positions
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.log import logged, read_batch
from dynamic_kafka._tools.metadata_file.document import read

Case = dict[str, Any]


def name(case: Case) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", cases("metadata"), ids=name)
def test_metadata(case: Case) -> None:
    document = read("\n".join(case["document"]))
    if "refused" not in case:
        assert not document.errors
        assert {
            id: {cluster: fields(entry) for cluster, entry in stream.clusters.items()}
            for id, stream in document.streams.items()
        } == case["streams"]
        assert {
            id: dict(stream.format_options) for id, stream in document.streams.items() if stream.format_options
        } == case.get("format_options", {})
        assert {
            id: history_fields(stream.history) for id, stream in document.streams.items() if stream.history
        } == case.get("histories", {})
        assert list(document.streams) == list(case["streams"])
        return
    line, says = case["refused"]["line"], case["refused"]["says"]
    texts = [error.text("streams.yaml") for error in document.errors if error.line == line]
    assert any(all(said in text for said in says) for text in texts), document.errors
    assert "hunter2" not in str(document.errors)


def history_fields(history: History) -> dict[str, Any]:
    found = {
        "format": history.format,
        "path": history.path,
        "options": dict(history.options) or None,
        "cluster": history.cluster,
    }
    return {key: value for key, value in found.items() if value is not None}


def fields(entry: ClusterMetadata) -> dict[str, Any]:
    """The fields of an entry, without defaults."""
    found = {
        "topics": list(entry.topics) or None,
        "topic_pattern": entry.topic_pattern,
        "partitions": entry.partitions and {topic: list(ps) for topic, ps in entry.partitions.items()},
        "state": None if entry.state == "active" else entry.state,
        "write": None if entry.write else False,
        "starting_offsets": entry.starting_offsets,
        "stopping_offsets": entry.stopping_offsets,
        "format_options": dict(entry.format_options) or None,
        "replaces": entry.replaces,
        "properties": dict(entry.properties),
    }
    return {key: value for key, value in found.items() if value is not None}


@pytest.mark.parametrize("case", cases("offsets"), ids=name)
def test_offsets(case: Case) -> None:
    if "refused" not in case:
        expected = json.loads(case["same"] if "same" in case else case["offset"])
        for topics in expected.get("ends", {}).values():
            # The tools do not need the setting of which a stopping offset is the result.
            topics.update({topic: ends["offsets"] for topic, ends in topics.items()})
        expand_epochs(expected)
        assert sections(composite.read(case["offset"]), expected["version"]) == expected
        assert composite.is_composite(case["offset"])
        return
    with pytest.raises(CheckpointError) as e:
        composite.read(case["offset"])
    assert all(said in str(e.value) for said in case["refused"]["says"]), e.value


def expand_epochs(offset: dict[str, Any]) -> None:
    """Leader epochs by partition, in place of the compact form."""

    def expanded(epochs: Any, offsets: dict[str, int]) -> dict[str, int]:
        each = epochs if isinstance(epochs, list) else [epochs] * len(offsets)
        return {partition: epoch for partition, epoch in zip(offsets, each, strict=True) if epoch >= 0}

    for id, identity in offset.get("identities", {}).items():
        for name, section in (("epochs", "clusters"), ("entered", "entered")):
            for topic, epochs in identity.get(name, {}).items():
                identity[name][topic] = expanded(epochs, offset[section][id][topic])
    for entries in offset.get("earlier", []):
        for id, topics in entries.get("epochs", {}).items():
            topics.update({t: expanded(epochs, entries["entered"][id][t]) for t, epochs in topics.items()})
    for retained in offset.get("retained", {}).values():
        for topic in retained["topics"].values():
            if "epochs" in topic:
                topic["epochs"] = expanded(topic["epochs"], topic["offsets"])


def sections(offset: composite.CompositeOffset, version: int) -> dict[str, Any]:
    """The offset as JSON, without empty sections."""
    retained = retained_of_version_1 if version == 1 else retained_since_version_2
    found: dict[str, Any] = {
        "version": version,
        "history": dict(offset.history),
        "clusters": by_cluster(offset.clusters),
        "entered": by_cluster(offset.entered),
        "retained": {
            id: retained(of) | ({"drained": sorted(of.drained)} if of.drained else {})
            for id, of in offset.retained.items()
        },
        "draining": by_cluster(offset.draining),
        "ends": by_cluster(offset.ends),
        "identities": {
            id: ({"cluster": of.cluster} if of.cluster else {})
            | ({"topics": of.topics} if of.topics else {})
            | ({"epochs": text_keys(of.epochs)} if of.epochs else {})
            | ({"entered": text_keys(of.entered)} if of.entered else {})
            for id, of in offset.identities.items()
        },
        "earlier": [
            {"batch": of.batch, "entered": by_cluster(of.entered)}
            | ({"epochs": by_cluster(of.epochs)} if of.epochs else {})
            for of in offset.earlier
        ],
    }
    return {section: value for section, value in found.items() if value or section == "clusters"}


def retained_of_version_1(retained: composite.Retained) -> dict[str, Any]:
    (since,) = {of.since_ms for of in retained.topics.values()}
    return {"since": since, "topics": text_keys({topic: of.offsets for topic, of in retained.topics.items()})}


def retained_since_version_2(retained: composite.Retained) -> dict[str, Any]:
    return {
        "topics": {
            topic: {"since": of.since_ms}
            | ({"id": of.id} if of.id else {})
            | text_keys({"offsets": of.offsets} | ({"epochs": of.epochs} if of.epochs else {}))
            for topic, of in retained.topics.items()
        }
    }


def by_cluster(section: dict[str, Positions]) -> dict[str, Any]:
    return {id: text_keys(positions) for id, positions in section.items()}


def text_keys(positions: Positions) -> dict[str, Any]:
    return {topic: {str(p): offset for p, offset in partitions.items()} for topic, partitions in positions.items()}


def test_there_are_cases_of_every_kind() -> None:
    metadata, offsets = cases("metadata"), cases("offsets")
    for kind in (metadata, offsets):
        assert {"refused" in case for case in kind} == {True, False}


@pytest.mark.parametrize("case", cases("offset-log"), ids=name)
def test_offset_logs(case: Case) -> None:
    checkpoint = REPOSITORY / "tests/conformance/checkpoints" / case["name"]
    batches = [read_batch(checkpoint, number) for number in logged(checkpoint)]
    assert [
        {
            "number": batch.number,
            "finished": batch.finished,
            "timestamp_ms": batch.timestamp_ms,
            "version": batch.version,
            "offsets": [[str(source), text] for source, text in batch.offsets.items()],
        }
        for batch in batches
    ] == case["batches"]
    for batch in batches:
        assert batch.text({}) == (checkpoint / "offsets" / str(batch.number)).read_text("utf-8")
