"""Checks the built pages: no request to another host, and a target for every reference within the site."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes that a browser follows by itself. Those of `a` are followed by readers.
_LOADED = {"src", "srcset", "data", "poster", "background"}
_CSS_URL = re.compile(r"(?:url\(\s*['\"]?|@import\s+['\"])((?:https?:)?//[^'\")]+)")


class Page(HTMLParser):
    """The anchors of a page, what a browser loads with it, and its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        self.loaded += [value for name, value in values.items() if name in _LOADED]
        if "href" in values:
            # `use` and `image` of SVG, and stylesheets and icons, are loaded; a page before or after this one is not.
            named = values.get("rel") in ("next", "prev", "canonical")
            (self.links if tag == "a" or named else self.loaded).append(values["href"])
        self.loaded += [url for value in (values.get("style", ""),) for url in _CSS_URL.findall(value)]


def faults(site: Path) -> list[str]:
    """One line for each fault."""
    pages = {path: Page(path.read_text()) for path in sorted(site.glob("**/*.html"))}
    found = []
    for path, page in pages.items():
        # This page is shown for any address, so its references begin at the root.
        folder = site if path.name == "404.html" else path.parent
        for target in page.loaded:
            if urlsplit(target).netloc:
                found.append(f"{path.relative_to(site)} loads {target}")
        for target in page.loaded + page.links:
            fault = _missing(target, path, folder, pages)
            if fault:
                found.append(f"{path.relative_to(site)}: {fault} {target}")
    for style in [*site.glob("**/*.css"), *site.glob("**/*.svg"), *pages]:
        found += [f"{style.relative_to(site)} loads {url}" for url in _CSS_URL.findall(style.read_text())]
    return found


def _missing(target: str, path: Path, folder: Path, pages: dict[Path, Page]) -> str | None:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return None
    linked = path
    if parts.path:
        linked = (folder / unquote(parts.path).lstrip("/")).resolve()
        if linked.is_dir():
            linked = linked / "index.html"
    if not linked.exists():
        return "no file"
    # The theme scrolls to `__` anchors of its own.
    anchor = unquote(parts.fragment)
    if anchor and linked in pages and not anchor.startswith("__") and anchor not in pages[linked].anchors:
        return "no anchor"
    return None
