"""The documents, and their parts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# The section of README.md that is run as a whole, and which docs/quickstart.md includes.
_QUICKSTART = re.compile(r"<!-- --8<-- \[start:quickstart\] -->(.*)<!-- --8<-- \[end:quickstart\] -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    document: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def documents() -> list[Path]:
    """Every document that users and contributors read."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "python" / "README.md"]
    return sorted(found)


def name(document: Path) -> str:
    return str(document.relative_to(ROOT))


def blocks(*languages: str) -> list[Block]:
    """The blocks in these languages, or all blocks without an argument."""
    found = []
    for document in documents():
        text = document.read_text()
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(name(document), line, match[1], match[2]))
    return [block for block in found if not languages or block.language in languages]


def quickstart() -> list[Block]:
    """The blocks of the README's quickstart."""
    text = (ROOT / "README.md").read_text()
    section = _QUICKSTART.search(text)
    assert section is not None
    first, last = (text.count("\n", 0, place) + 1 for place in section.span())
    return [block for block in blocks() if block.document == "README.md" and first < block.line < last]


def links(document: Path) -> list[str]:
    """Targets of the links within this repository."""
    text = _FENCE.sub("", document.read_text())
    return [target for target in _LINK.findall(text) if "://" not in target]


def anchors(document: Path) -> set[str]:
    """The anchors of a document, which the hosting site derives from its headings."""
    headings = re.findall(r"^#+ (.+)$", _FENCE.sub("", document.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
