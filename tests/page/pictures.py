"""The pictures of the page in the documentation: `make extra NAME=page-pictures`.

python -m tests.page.pictures FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import tests.conftest  # noqa: F401 the path of the testkit
from tests.page import states
from tests.page.browser import chromium, wait

# isort: split
from dynamic_kafka import DynamicKafka
from dynamic_kafka_testkit import Testkit

from tests.page.world import World, session

LARGEST = 150_000
WAIT_MS = 600_000
# The points of the charts: a minute and a half.
POINTS = 45
HAS_POINTS = """async n => (await (await fetch('data.json')).json()).queries
  .some(q => q.part === '0' && q.ended == null && q.points.at.length >= n)"""


def shoot(page: Any, file: Path) -> None:
    """Store what the window shows."""
    page.screenshot(path=str(file))
    size = file.stat().st_size
    print(f"{file}: {size} bytes")
    assert size < LARGEST, f"{file} has {size} bytes"


def main(folder: Path) -> None:
    """Run a query through a change, and take the pictures."""
    with Testkit() as testkit, tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        blue, green = testkit.start_all("blue", "green")
        world = World(Path(temporary), {"blue": blue, "green": green})
        world.define(blue="active")
        spark = session()
        with world.producing(blue=150, green=90):
            query = world.start(spark, per_batch=600)
            page = browser.new_page(viewport={"width": 1280, "height": 960}, locale="en-US")
            page.set_default_timeout(WAIT_MS)
            while DynamicKafka.ui_address(spark) is None:
                query.awaitTermination(1)
            page.goto(DynamicKafka.ui_address(spark))
            wait(page, HAS_POINTS, POINTS // 3)
            world.define(blue="active", green="active")
            wait(page, HAS_POINTS, POINTS * 2 // 3)
            # More than a batch reads: it drains for a while.
            world.produce("blue", 12_000)
            world.define(blue="draining", green="active")
            wait(page, HAS_POINTS, POINTS)
            shoot(page, folder / "page.png")
            page.get_by_role("link", name="writes").click()
            wait(page, "() => document.querySelector('.about').textContent.startsWith('writes')")
            shoot(page, folder / "page-sink.png")
            address = page.url.split("#")[0]
            query.stop()
        for name, width, height, scheme in (("many", 1280, 960, "dark"), ("phone", 390, 844, "light")):
            answer = states.MANY
            window = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme=scheme, locale="en-US"
            )
            states.route(window, answer)
            window.goto(address)
            wait(window, "() => document.querySelectorAll('figure canvas').length === 2")
            shoot(window, folder / f"page-{name}.png")
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
