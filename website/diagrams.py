"""Mermaid diagrams as SVG, without a browser: Mermaid runs in QuickJS."""

from __future__ import annotations

import html
import itertools
import re
from typing import Any

import mermaidx

# Labels are text of the SVG, not HTML in it, so that the style of the page does not move them. Colors are in site.css.
_CONFIG = (
    '%%{init: {"theme": "base", "htmlLabels": false, "fontFamily": "arial", '
    '"flowchart": {"htmlLabels": false, "wrappingWidth": 320, "subGraphTitleMargin": {"top": 6, "bottom": 14}}}}%%\n'
)
# A diagram that does not fit is scrolled: below this scale its labels would be too small to read.
_SMALLEST = 0.8
# In the middle of a group's upper side, arrows cross its label: it is moved to the left.
_GROUP_LABEL = re.compile(
    r'(<rect [^>]*?x="([-\d.]+)"[^>]*/><g class="cluster-label" transform=")translate\([-\d.]+, ([-\d.]+)\)'
)
_numbers = itertools.count()


def fence(source: str, language: str, css_class: str, options: dict[str, str], md: Any, **_: Any) -> str:
    """The HTML of a block, for pymdownx.superfences."""
    return svg(source, f"diagram-{next(_numbers)}", css_class)


def svg(source: str, identifier: str, css_class: str = "diagram") -> str:
    """A figure with the diagram; its source is the text of the figure for screen readers."""
    drawn = mermaidx.render(_CONFIG + source).svg()
    drawn = re.sub(r"^.*?(?=<svg)", "", drawn, flags=re.DOTALL)
    # Styles in the SVG are those of its id, and ids of markers are used in the whole page.
    (former,) = re.findall(r'^<svg[^>]*?\bid="([^"]+)"', drawn)
    drawn = re.sub(rf"(?<![\w-]){re.escape(former)}(?![\w])", identifier, drawn)
    width = float(re.findall(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) [\d.]+"', drawn)[0])
    size = f"width:100%;max-width:{width:.0f}px;min-width:{min(width, width * _SMALLEST):.0f}px"
    drawn = re.sub(r'^(<svg[^>]*?) style="[^"]*"', rf'\1 style="{size}"', drawn)
    drawn = _GROUP_LABEL.sub(r"\1translate(\2, \3)", drawn)
    label = html.escape("Diagram: " + _words(source), quote=True)
    return f'<div class="{css_class}" role="img" aria-label="{label}" tabindex="0">{drawn}</div>'


def _words(source: str) -> str:
    """The labels of a diagram, in order."""
    labels = re.findall(r'"([^"]+)"|\[([^\]"]+)\]|section (.+)|^ +([^:\n]+?) :', source, re.MULTILINE)
    found = [next(filter(None, label)).replace("<br/>", " ") for label in labels]
    return "; ".join(dict.fromkeys(found))
