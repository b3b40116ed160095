"""A headless browser that comes with packages alone: `make target/browser/.ready` unpacks it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.harness.waiting import until

FOLDER = Path(os.environ.get("BROWSER", Path(__file__).resolve().parents[2] / "target" / "browser"))
# Not in the environment of the tests, which other tests do not need to be larger.
sys.path += [str(path) for path in FOLDER.glob("venv/lib/python3*/site-packages")]

AXE = FOLDER / "node_modules" / "axe-core" / "axe.min.js"


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, which ends with the block."""
    from playwright.sync_api import sync_playwright

    environment = os.environ | {
        "LD_LIBRARY_PATH": str(FOLDER / "lib"),
        "FONTCONFIG_PATH": str(FOLDER),
        "XDG_CACHE_HOME": str(FOLDER / "cache"),
        # uPlot asks for the language of the browser.
        "LANG": "en_US.UTF-8",
        "LC_ALL": "en_US.UTF-8",
    }
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(FOLDER / "chromium"),
            args=["--no-sandbox", "--disable-gpu"],
            env=environment,
        )
        yield browser
        browser.close()


def wait(page: Any, function: str, arg: object = None) -> None:
    """Wait until a function of JavaScript is true. The policy of the page forbids what Playwright does for this."""
    until(function, lambda: page.evaluate(function, arg))


def faults(page: Any) -> list[str]:
    """What axe-core finds against WCAG 2.1 A and AA."""
    # Not as a script of the page, which its policy forbids.
    page.evaluate(AXE.read_text())
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
    result = page.evaluate("tags => axe.run(document, { runOnly: tags })", tags)
    return [
        f"{violation['id']}: {violation['help']}: {[node['html'][:120] for node in violation['nodes']][:3]}"
        for violation in result["violations"]
    ]
