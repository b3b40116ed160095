"""What is wrong with a metadata file, and where."""

from __future__ import annotations

from dataclasses import dataclass, field

from dynamic_kafka._tools.metadata_file.place import Place


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, or odd. Names keys and ids, and never a property's value.

    Attributes:
        line: 1-based; for a value of a mapping the line of its key. None for an empty document.
        reason: What is wrong, to be read after the place.
        place: The names that lead there.
    """

    line: int | None
    reason: str
    place: Place = field(default_factory=Place)

    def text(self, file: str) -> str:
        """One line, in the form that editors and terminals make a link of: ``file:line: place: reason``."""
        where = file if self.line is None else f"{file}:{self.line}"
        return ": ".join(part for part in (where, str(self.place), self.reason) if part)

    def to_json(self, file: str) -> dict[str, object]:
        """The same as an object; what there is not is null."""
        return {
            "file": file,
            "line": self.line,
            "stream": self.place.stream,
            "cluster": self.place.cluster,
            "key": self.place.full_key(),
            "message": self.reason,
        }


class ProblemError(Exception):
    """A problem after which there is nothing more to be said about the document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.reason)
        self.problem = problem
