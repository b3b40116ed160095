"""What a checkpoint becomes when its query moves from Spark's own Kafka source to this one, or back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dynamic_kafka._tools.checkpoint import composite, composite_text, plain
from dynamic_kafka._tools.checkpoint.composite import CompositeOffset, Positions
from dynamic_kafka._tools.checkpoint.error import CheckpointError
from dynamic_kafka._tools.checkpoint.finished import check_deferred, newest_finished
from dynamic_kafka._tools.checkpoint.log import LoggedBatch, SourceId, logged, read_batch
from dynamic_kafka._tools.checkpoint.sources import composite_texts

_OLD_QUERY = "old query"
_CLUSTER_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_CLUSTER_ID_RULE = "a cluster id has 1 to 128 letters, digits, '.', '_' or '-'"


@dataclass(frozen=True)
class MovedSource:
    """A source that moves.

    Attributes:
        source: Spark's number or name of it.
        cluster: Id of the cluster.
        offsets: The positions, which are the same before and after.
    """

    source: SourceId
    cluster: str
    offsets: Positions


@dataclass(frozen=True)
class Migration:
    """What changes in a checkpoint.

    Attributes:
        batch: The newest batch.
        sources: The sources that move. All others stay as they are.
        logs: The new entries of the offset log, by batch.
        notes: What the other source does not know.
    """

    batch: int
    sources: tuple[MovedSource, ...]
    logs: Mapping[int, str]
    notes: tuple[str, ...] = ()


def from_plain(checkpoint: Path, given: Sequence[str]) -> Migration:
    """Plans the way from Spark's Kafka source to this one.

    Args:
        checkpoint: Folder of the query's checkpoint.
        given: Cluster ids: one, or ``N=ID`` for each source.

    Raises:
        CheckpointError: if the checkpoint cannot be migrated, with the reason.
    """
    newest = newest_finished(checkpoint, _OLD_QUERY)
    for source, text in newest.offsets.items():
        if text is not None and composite.is_composite(text):
            raise CheckpointError(
                f"source {source} of batch {newest.number} of {checkpoint} is a dynamic-kafka source already"
            )
    found = _plain_sources(checkpoint, newest)
    if not found:
        raise CheckpointError(f"batch {newest.number} of {checkpoint} has no offset of Spark's kafka source")
    clusters = _clusters(given, found)
    logs = {}
    for batch in _batches(checkpoint):
        read = {source: plain.read(batch.offsets.get(source) or "-") for source in found}
        positions = found if batch.number == newest.number else read
        logs[batch.number] = batch.text(
            {
                source: composite_text.of_cluster(clusters[source], of)
                for source, of in positions.items()
                if of is not None
            }
        )
    moved = tuple(MovedSource(source, clusters[source], of) for source, of in found.items())
    return Migration(newest.number, moved, logs)


def to_plain(checkpoint: Path, drop_retained: bool) -> Migration:
    """Plans the way from this source to Spark's Kafka source.

    Args:
        checkpoint: Folder of the query's checkpoint.
        drop_retained: Whether to give up the offsets of what was removed.

    Raises:
        CheckpointError: if the checkpoint cannot be migrated, with the reason.
    """
    newest = newest_finished(checkpoint)
    texts = composite_texts(checkpoint, newest, "its query reads Spark's kafka source already")
    moved, notes = [], []
    for source, text in texts.items():
        check_deferred(checkpoint, source, newest)
        offset = composite.read(text)
        where = f"source {source} of batch {newest.number} of {checkpoint}"
        cluster = _only_cluster(offset, drop_retained, where)
        moved.append(MovedSource(source, cluster, offset.clusters.get(cluster, {})))
        if offset.draining or offset.ends:
            notes.append(
                f"{where} has drain targets or ending offsets. Spark's source has none, and reads beyond them"
            )
    logs = {}
    for batch in _batches(checkpoint):
        # Spark takes only the number of sources from earlier batches.
        changed = {of.source: _projected(batch.offsets.get(of.source), of.cluster) for of in moved}
        logs[batch.number] = batch.text({source: text for source, text in changed.items() if text is not None})
    return Migration(newest.number, tuple(moved), logs, tuple(notes))


def check_cluster_id(id: str) -> None:
    """Fails if metadata could not have a cluster with this id.

    Raises:
        CheckpointError: with the rule.
    """
    if not _CLUSTER_ID.fullmatch(id):
        raise CheckpointError(f"'{id}' is not a valid cluster id: {_CLUSTER_ID_RULE}")


def _plain_sources(checkpoint: Path, newest: LoggedBatch) -> dict[SourceId, Positions]:
    found = {}
    for source, text in newest.offsets.items():
        if text is not None:
            positions = plain.read(text)
        else:
            # A pattern that has matched no topic yet: the source has started, and has no offset.
            positions = {} if plain.has_initial_offset(checkpoint / "sources" / str(source)) else None
        if positions is not None:
            plain.check_positions(positions, f"source {source} of batch {newest.number} of {checkpoint}")
            found[source] = positions
    return found


def _clusters(given: Sequence[str], sources: Mapping[SourceId, Positions]) -> dict[SourceId, str]:
    spelling = " ".join(f"--cluster {source}=ID" for source in sources)
    named = {str(source): source for source in sources}
    found: dict[SourceId, str] = {}
    for text in given:
        source, equals, id = text.rpartition("=")
        if not equals and len(sources) > 1:
            raise CheckpointError(f"the query has several sources of Spark's kafka format: use {spelling}")
        if equals and source not in named:
            raise CheckpointError(f"'{source}' is not a source of Spark's kafka format: use {spelling}")
        check_cluster_id(id)
        key = named[source] if equals else next(iter(sources))
        if key in found:
            raise CheckpointError(f"source {key} has two clusters: use {spelling}")
        found[key] = id
    missing = [str(source) for source in sources if source not in found]
    if missing:
        raise CheckpointError(f"there is no cluster for source {', '.join(missing)}: use {spelling}")
    return found


def _only_cluster(offset: CompositeOffset, drop_retained: bool, where: str) -> str:
    sections: dict[str, Iterable[str]] = {"clusters": offset.clusters, "draining": offset.draining}
    if not drop_retained:
        sections["retained"] = offset.retained
    ids = {id for section in sections.values() for id in section}
    if len(ids) > 1:
        what = "; ".join(f"{name}: {', '.join(sorted(of))}" for name, of in sections.items() if of)
        advice = "" if drop_retained else ". --drop-retained gives up what is retained"
        raise CheckpointError(f"{where} has several clusters ({what}), and Spark's source reads one{advice}")
    retained = {} if drop_retained else {id: of.topics for id, of in offset.retained.items() if of.topics}
    for cluster, topics in retained.items():
        raise CheckpointError(
            f"{where} retains offsets of topics on cluster {cluster} ({', '.join(sorted(topics))}), which Spark's "
            "source does not do. --drop-retained gives them up"
        )
    if not ids:
        raise CheckpointError(f"{where} has no cluster")
    return ids.pop()


def _projected(text: str | None, cluster: str) -> str | None:
    if text is None or not composite.is_composite(text):
        return None
    return plain.write(composite.read(text).clusters.get(cluster, {}))


def _batches(checkpoint: Path) -> list[LoggedBatch]:
    return [read_batch(checkpoint, number) for number in logged(checkpoint)]
