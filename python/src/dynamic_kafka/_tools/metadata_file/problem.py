"""Problems of a metadata file."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamic_kafka._tools.metadata_file.place import Place


@dataclass(frozen=True)
class Problem:
    """An error or a warning. It contains keys and ids, and never the value of a property.

    Attributes:
        line: 1-based line; for a value of a mapping, the line of its key. None for an empty document.
        reason: The text after the location.
        place: The place of the value.
    """

    line: int | None
    reason: str
    place: Place = field(default_factory=Place)

    def text(self, file: str) -> str:
        """Returns ``file:line: place: reason``, which editors and terminals show as a link."""
        where = file if self.line is None else f"{file}:{self.line}"
        return ": ".join(part for part in (where, str(self.place), self.reason) if part)

    def to_json(self, file: str) -> dict[str, object]:
        """Returns the problem as a JSON object; absent values are None."""
        return {
            "file": file,
            "line": self.line,
            "stream": self.place.stream,
            "cluster": self.place.cluster,
            "key": self.place.full_key(),
            "message": self.reason,
        }


class ProblemError(Exception):
    """A problem after which the rest of the document cannot be parsed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.reason)
        self.problem = problem
