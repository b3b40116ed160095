"""The parts of the website that need nothing but Python: the check of its pages, and of the moving picture."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import documents as docs

from website.pages import faults

LARGEST = 400_000


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js"),
        ('<link rel="stylesheet" href="//cdn.example/x.css">', "loads //cdn.example/x.css"),
        ('<img src="missing.svg">', "no file missing.svg"),
        ('<a href="other.html#nowhere">x</a>', "no anchor other.html#nowhere"),
        ('<a href="#nowhere">x</a>', "no anchor #nowhere"),
        ('<style>p { background: url("https://cdn.example/x.png") }</style>', "loads https://cdn.example/x.png"),
    ],
)
def test_a_fault_of_a_page_is_found(body: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "index.html").write_text(f"<body>{body}</body>")
    (found,) = faults(tmp_path)
    assert found.startswith("index.html")
    assert found.endswith(fault)


def test_a_page_without_faults(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "index.html").write_text('<h1 id="here">x</h1><a href="../index.html">x</a>')
    links = ("folder/#here", "folder/index.html#here", "https://kafka.apache.org/", "#", "#__skip", "mailto:a@b.c")
    (tmp_path / "index.html").write_text("".join(f'<a href="{link}">x</a>' for link in links))
    assert faults(tmp_path) == []


def test_the_picture_of_the_demo() -> None:
    """The picture is on the first screen of README.md, and shows the verdict."""
    picture = docs.ROOT / "docs" / "assets" / "demo.svg"
    text = picture.read_text()
    assert len(text.encode()) < LARGEST
    assert "<script" not in text
    assert not re.search(r"(?:href|src)=|url\(|@import", text)
    words = "".join(ElementTree.fromstring(text).itertext())
    assert "verdict" in words
    first = (docs.ROOT / "README.md").read_text().splitlines()[:12]
    assert any("](docs/assets/demo.svg)" in each for each in first)
