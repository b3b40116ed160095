"""Reads and checks a metadata file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path as File

from dynamic_kafka._tools.metadata_file import checks, schema
from dynamic_kafka._tools.metadata_file.place import Path, place_of
from dynamic_kafka._tools.metadata_file.problem import Problem, ProblemError
from dynamic_kafka._tools.metadata_file.streams import streams_of
from dynamic_kafka._tools.metadata_file.tree import Tree
from dynamic_kafka._tools.metadata_file.yaml_text import compose
from dynamic_kafka.model import KafkaStream


@dataclass(frozen=True)
class Document:
    """The content of a metadata file.

    Attributes:
        streams: Streams by id, in the order of the file. Empty if there are errors.
        errors: Problems for which the connector rejects the file, in the order of the lines.
    """

    streams: dict[str, KafkaStream] = field(default_factory=dict)
    errors: list[Problem] = field(default_factory=list)


def read_file(file: File) -> Document:
    """Reads a file as :func:`read` does. Bytes that are not UTF-8 become U+FFFD, as in the connector.

    Raises:
        OSError: if the file cannot be read.
    """
    return read(file.read_bytes().decode("utf-8", errors="replace"))


def read(text: str) -> Document:
    """Reads a document: version 1 of the format, or Flink's list of streams; YAML or JSON."""
    try:
        tree = Tree(compose(text))
    except ProblemError as e:
        return Document(errors=[e.problem])
    errors = _errors(tree)
    if errors:
        return Document(errors=errors)
    return Document(streams_of(tree))


def _errors(tree: Tree) -> list[Problem]:
    by_path = schema.problems(tree)
    seen: set[Path] = set(by_path)
    more = [(path, reason) for path, reason in checks.wrong(tree) if not _known(path, seen)]
    found = [*tree.problems, *by_path.values(), *_problems(tree, more)]
    return sorted(found, key=lambda problem: problem.line or 0)


def _known(path: Path, seen: set[Path]) -> bool:
    """Whether the schema has found an error at a path or, for a position, at a part of it."""
    parts = (known[: len(path)] for known in seen)
    return path in (parts if path[-1:] and path[-1] in checks.POSITIONS else seen)


def _problems(tree: Tree, found: Iterable[tuple[Path, str]]) -> list[Problem]:
    return [Problem(tree.line(path), reason, place_of(path, tree.value)) for path, reason in found]
