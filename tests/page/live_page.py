"""The page of a driver in a headless browser: `make extra NAME=page`.

Not a name that pytest looks for, because `make test` would have to fetch a browser of 220 MB.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from dynamic_kafka import DynamicKafka
from dynamic_kafka_testkit import Cluster
from pyspark.sql import SparkSession

from tests.page import states
from tests.page.browser import chromium, faults, wait
from tests.page.world import NAME, SECRET, World, session

# A machine that is ten times as busy.
WAIT_MS = 300_000
# Whether the tiles have these values, and whether each chart that has the cluster in its legend has this value of it.
TILES = """wanted => { const tiles = Object.fromEntries([...document.querySelectorAll('.tiles div')]
  .map(tile => [tile.firstChild.textContent, tile.lastChild.textContent]));
  return Object.entries(wanted).every(([name, value]) => tiles[name] === value)
    && ['draining', 'retained', 'unreachable'].every(name => name in wanted || !(name in tiles)); }"""
LEGEND = """([name, value]) => { const shown = [...document.querySelectorAll('figure .legend li')]
  .filter(item => item.children[1].textContent === name);
  return shown.length > 0 && shown.every(item => item.lastChild.textContent === value); }"""
STATES = {"empty": states.EMPTY, "waiting": states.WAITING, "many": states.MANY, "long": states.LONG}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session_ = session()
    yield session_
    session_.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def address(spark: SparkSession, brokers: dict[str, Cluster], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of this driver, which stays open when its first query has ended."""
    world = World(tmp_path_factory.mktemp("page"), brokers)
    world.define(blue="active")
    query = world.start(spark)
    query.processAllAvailable()
    found = DynamicKafka.ui_address(spark)
    query.stop()
    assert found is not None
    return found


class Visit:
    """A tab with the page, and what has gone wrong in it."""

    def __init__(self, browser: Any, address: str, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, locale="en-US"
        )
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.hosts: set[str] = set()
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("request", lambda r: self.hosts.add(urlsplit(r.url).netloc))
        self.address = address

    def answered(self, answer: states.Answer) -> Visit:
        """The page gets this answer instead of the driver's."""
        states.route(self.page, answer)
        return self

    def open(self) -> Visit:
        """Wait until the page shows values."""
        self.page.goto(self.address)
        wait(self.page, "() => document.getElementById('status').textContent.startsWith('Live')")
        return self

    def wait_for(self, *texts: str) -> None:
        """Wait until the text of the page has all of these."""
        wait(self.page, "texts => texts.every(t => document.body?.innerText.includes(t))", texts)

    def check(self) -> None:
        """Nothing has gone wrong, and nothing came from another host."""
        assert self.problems == []
        assert {host for host in self.hosts if host} == {urlsplit(self.address).netloc}
        self.context.close()


def test_a_query_through_a_change_of_its_topology(
    spark: SparkSession, browser: Any, address: str, brokers: dict[str, Cluster], tmp_path: Path
) -> None:
    world = World(tmp_path, brokers)
    world.define(blue="active")
    with world.producing(blue=20, green=20):
        query = world.start(spark)
        visit = Visit(browser, address).open()
        page = visit.page
        page.get_by_role("link", name=f"{NAME} reads, lag").click()
        visit.wait_for("blue enters", "orders-", "4 partitions")
        rows = page.locator("tbody tr")
        rows.filter(has_text="blue").filter(has_text="active").wait_for()
        # The charts are drawn as soon as there are two points.
        page.locator("figure canvas").nth(1).wait_for()

        world.define(blue="draining", green="active")
        visit.wait_for("green enters", "blue starts to drain")
        rows.filter(has_text="green").filter(has_text="active").wait_for()
        rows.filter(has_text="blue").filter(has_text="retained may be shut down").wait_for()
        wait(page, TILES, {"clusters": "2", "retained": "1"})
        # The values of the last sample are old: the legend has a dash in their place.
        wait(page, LEGEND, ["blue", "\u2013"])
        world.define(green="active")
        rows.filter(has_text="blue").wait_for(state="detached")
        wait(page, TILES, {"clusters": "1"})
        # The timeline still has the cluster.
        page.get_by_role("img", name="blue active").wait_for()
        assert page.locator(".bar.active").count() >= 2

        page.get_by_role("link", name=f"{NAME} writes").first.click()
        visit.wait_for("writes stream: copies", "open transactions", "pending transactions")
        rows.filter(has_text="green").filter(has_text="active").wait_for()
        assert SECRET not in page.content()
        query.stop()
    visit.wait_for("The query has ended", "Events")
    visit.check()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_contrast_and_names_for_screen_readers(browser: Any, address: str, state: str, scheme: str) -> None:
    visit = Visit(browser, address, scheme=scheme).answered(STATES[state]).open()
    assert faults(visit.page) == []
    visit.check()


def test_the_check_finds_faults(browser: Any, address: str) -> None:
    visit = Visit(browser, address).answered(states.MANY).open()
    visit.page.evaluate("document.querySelector('.about').style.color = '#ccc'")
    assert [fault for fault in faults(visit.page) if fault.startswith("color-contrast")]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("state", STATES)
def test_no_width_scrolls_sideways(browser: Any, address: str, state: str, width: int) -> None:
    visit = Visit(browser, address, width).answered(STATES[state]).open()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    visit.check()


def test_ids_are_text(browser: Any, address: str) -> None:
    visit = Visit(browser, address).answered(states.LONG).open()
    visit.wait_for("<img src=x onerror=alert(1)>")
    assert visit.page.locator("img[src]").count() == 0
    visit.check()


def test_the_keyboard_sorts_filters_and_chooses_a_query(browser: Any, address: str) -> None:
    other = {**states.source("another", {"red": ("active", 5.0)}), "started": states.NOW - 1000}
    answer = states.answer(other, *states.MANY["queries"])
    visit = Visit(browser, address).answered(answer).open()
    page = visit.page

    def press_until(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("s => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"no Tab reaches {selector}")

    press_until(".skip")
    press_until("nav a:not([aria-current])")
    page.keyboard.press("Enter")
    wait(page, "() => document.querySelector('h2').textContent === 'sixty-four'")
    assert page.evaluate("document.activeElement.id") == "query"
    press_until("#period")
    press_until("#filter")
    page.keyboard.type("cluster-3")
    wait(page, "() => document.querySelectorAll('tbody tr').length === 10")
    press_until("thead th:nth-child(5) button")
    page.keyboard.press("Enter")
    assert page.locator("thead th[aria-sort=descending]").inner_text() == "records read"
    assert page.locator("tbody th").first.inner_text() == "cluster-30"
    visit.check()


def test_empty_states_say_what_to_expect(browser: Any, address: str) -> None:
    visit = Visit(browser, address).answered(states.EMPTY).open()
    visit.wait_for("No query is shown", "ui=true")
    visit.context.close()
    visit = Visit(browser, address).answered(states.WAITING).open()
    visit.wait_for("No cluster yet", "Values appear after a few seconds")
    visit.check()


def test_a_driver_that_does_not_respond(browser: Any, address: str) -> None:
    visit = Visit(browser, address).answered(states.MANY).open()
    visit.page.unroute("**/data.json*")
    visit.page.route("**/data.json*", lambda route: route.abort())
    visit.wait_for("The driver does not respond: values are those of", "sixty-four")
    visit.page.unroute("**/data.json*")
    visit.answered(states.MANY)
    visit.wait_for("Live")
    visit.context.close()


def test_the_token_is_entered_in_a_form(
    spark: SparkSession, browser: Any, address: str, brokers: dict[str, Cluster], tmp_path: Path
) -> None:
    """The last test, because the page of the others is closed."""
    world = World(tmp_path, brokers)
    world.define(blue="active")
    token = "a-token-of-twenty-ch"
    query = world.start(spark, uiToken=token)
    query.processAllAvailable()
    guarded = DynamicKafka.ui_address(spark)
    assert guarded is not None
    visit = Visit(browser, guarded)
    page = visit.page
    page.goto(guarded)
    assert NAME not in page.content()
    assert faults(page) == []
    page.get_by_label("Token").fill("not-the-token-of-it")
    page.keyboard.press("Enter")
    page.get_by_role("alert").wait_for()
    assert faults(page) == []
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Show the page").click()
    visit.wait_for("Live", NAME, "blue")
    assert token not in page.content()
    query.stop()
    visit.context.close()
