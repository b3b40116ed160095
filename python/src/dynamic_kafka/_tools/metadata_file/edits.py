"""Changes of a metadata document that leave all other lines, comments among them, as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from dynamic_kafka._tools.metadata_file.document import Document, read
from dynamic_kafka._tools.metadata_file.schema import did_you_mean
from dynamic_kafka._tools.metadata_file.tree import Tree
from dynamic_kafka._tools.metadata_file.written import Replacement, Written
from dynamic_kafka._tools.metadata_file.yaml_text import compose
from dynamic_kafka.model import SUBSCRIPTIONS, KafkaStream, State

_BY_HAND = "change it by hand"

Streams = dict[str, KafkaStream]
_Entry = tuple[str, str]


class EditError(Exception):
    """An edit is refused; nothing is changed. The message contains no value of a property."""


def with_state(text: str, cluster: str, state: State, stream: str | None = None) -> str:
    """Sets the state of a cluster in one stream, or in every stream that it has.

    Args:
        text: A valid document.
        cluster: Id of the cluster.
        state: The new state.
        stream: Id of the stream. None: every stream of the cluster.

    Raises:
        EditError: if an id is unknown, or the document cannot be changed in this way.
    """
    streams = _version1(text)
    if stream is not None:
        _check_stream(streams, stream)
        _check_cluster(streams[stream], cluster)
    chosen = [id for id in streams if cluster in streams[id].clusters] if stream is None else [stream]
    if not chosen:
        known = _clusters(text)
        if cluster in known:
            raise EditError(f"no stream is on cluster '{cluster}'")
        raise EditError(f"'clusters' has no cluster '{cluster}'.{did_you_mean(cluster, known)}")
    return _edited(text, _wanted(streams, {id: cluster for id in chosen}, state))


def moved(text: str, stream: str, old: str, new: str) -> str:
    """Drains a cluster of a stream, and adds another one with the same topics.

    Raises:
        EditError: if an id is unknown, the other cluster has other topics of the stream, or the document cannot be
            changed in this way.
    """
    streams = _version1(text)
    _check_stream(streams, stream)
    _check_cluster(streams[stream], old)
    known = _clusters(text)
    if new not in known:
        raise EditError(
            f"'clusters' has no cluster '{new}': first add it there, with its properties."
            f"{did_you_mean(new, known)}"
        )
    if new == old:
        raise EditError(f"stream '{stream}' cannot move from cluster '{old}' to itself")
    there = streams[stream].clusters.get(new)
    wanted = _wanted(streams, {stream: old}, "draining")
    if there is None:
        text = _with_entry(text, stream, old, new)
        # What the new entry says is what the document says; that nothing else changes is checked.
        wanted = _with(wanted, stream, new, _streams(text)[stream])
    elif (there.subscription, there.state) != (streams[stream].clusters[old].subscription, "active"):
        raise EditError(
            f"stream '{stream}' has cluster '{new}' already, with state '{there.state}' and "
            f"{there.subscription[0]} {there.subscription[1]}: {_BY_HAND}"
        )
    return _edited(text, wanted)


def _edited(text: str, wanted: Streams) -> str:
    """Changes states until the document has these streams. An anchor that others use may take several steps."""
    for _ in range(4):
        now = _streams(text)
        if now == wanted:
            return text
        changes = list(_changes(text, now, wanted))
        if not changes:
            break
        text = _replaced(text, changes)
    different = next(id for id in wanted if _streams(text).get(id) != wanted[id])
    raise EditError(
        f"stream '{different}' shares this part of the document with others, by an anchor or a merge key: "
        f"{_BY_HAND}"
    )


def _changes(text: str, now: Streams, wanted: Streams) -> Iterator[Replacement]:
    """Entries that are written out come first: an alias of one may then have the right state."""
    written = Written(text)
    found = [
        (written.entries(id).get(cluster), entry.state)
        for id, stream in wanted.items()
        for cluster, entry in stream.clusters.items()
        if now[id].clusters[cluster].state != entry.state
    ]
    there = [(entry, state) for entry, state in found if entry is not None]
    own = [(entry, state) for entry, state in there if entry.alias is None]
    yield from {written.with_state(entry, state) for entry, state in own or there}


def _replaced(text: str, replacements: Iterable[Replacement]) -> str:
    for one in sorted(replacements, key=lambda r: r.start, reverse=True):
        text = text[: one.start] + one.text + text[one.end :]
    return text


def _with_entry(text: str, stream: str, old: str, new: str) -> str:
    written = Written(text)
    if old not in written.entries(stream):
        raise EditError(f"the clusters of stream '{stream}' are those of an anchor or a merge key: {_BY_HAND}")
    return _replaced(text, [written.with_entry(stream, old, new, SUBSCRIPTIONS)])


def _wanted(streams: Streams, clusters: Mapping[str, str], state: State) -> Streams:
    found = dict(streams)
    for id, cluster in clusters.items():
        entries = streams[id].clusters
        changed = {**entries, cluster: replace(entries[cluster], state=state)}
        found[id] = replace(streams[id], clusters=changed)
    return found


def _with(streams: Streams, stream: str, cluster: str, source: KafkaStream) -> Streams:
    clusters = {**streams[stream].clusters, cluster: source.clusters[cluster]}
    return {**streams, stream: replace(streams[stream], clusters=clusters)}


def _streams(text: str) -> Streams:
    document: Document = read(text)
    if document.errors:
        line = document.errors[0].text("the edited document")
        raise EditError(f"the document would not be valid ({line}): {_BY_HAND}")
    return document.streams


def _version1(text: str) -> Streams:
    streams = _streams(text)
    if isinstance(Tree(compose(text)).value, list):
        raise EditError("Flink's list of streams has no states: use a document of version 1")
    return streams


def _clusters(text: str) -> list[str]:
    return list(Tree(compose(text)).value.get("clusters", {}))


def _check_stream(streams: Streams, stream: str) -> None:
    if stream not in streams:
        raise EditError(f"there is no stream '{stream}'.{did_you_mean(stream, streams)}")


def _check_cluster(stream: KafkaStream, cluster: str) -> None:
    if cluster not in stream.clusters:
        raise EditError(
            f"stream '{stream.stream_id}' is not on cluster '{cluster}'.{did_you_mean(cluster, stream.clusters)}"
        )
