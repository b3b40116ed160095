"""What the site adds to mkdocs: diagrams as SVG, a search of the users' pages, and a check of the built pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

from website import diagrams, pages

_CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
_NAME = re.compile(r"(?<=<code>)[^<]{14,}(?=</code>)")
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[_.=/:(])(?=\w)")


def on_config(config: Any) -> Any:
    """Let blocks of the language `mermaid` become SVG while the site is built."""
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {}).setdefault("custom_fences", [])
    fences.append({"name": "mermaid", "class": "diagram", "format": diagrams.fence})
    return config


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Let the search find no page for maintainers."""
    if page.file.src_uri.startswith("dev/"):
        page.meta["search"] = {"exclude": True}


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Let long names in tables break between their words, and not within one."""
    return _CELL.sub(lambda cell: _NAME.sub(lambda name: _WORD.sub("<wbr>", name[0]), cell[0]), output)


def on_post_build(config: Any) -> None:
    """Fail if a page refers to another host, or to something that the site does not have."""
    faults = pages.faults(Path(config.site_dir))
    if faults:
        raise PluginError("The pages have faults:\n" + "\n".join(faults))
