"""The output of the demo: a live table, or plain lines without a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

_STYLES = {"active": "green", "draining": "yellow", "retained": "cyan", "up": "green", "down": "red"}
_PLAIN_LINES_EVERY_S = 5


@dataclass(frozen=True)
class Row:
    """The state of one cluster."""

    cluster: str
    broker: str
    metadata: str
    query: str
    produced: int
    read: int
    amount: int


@dataclass(frozen=True)
class View:
    """The state at one moment.

    Args:
        rows: One for each cluster.
        driver: The process of the query.
        shipped: Whether shipments are read. An order may be shipped on another cluster, so a cluster has no lag.
    """

    rows: list[Row]
    driver: str
    shipped: bool = False

    @property
    def lag(self) -> int:
        """What is produced and not read, on all clusters."""
        return sum(row.produced - row.read for row in self.rows)

    def lag_of(self, row: Row) -> str:
        """The lag of one cluster, as text."""
        return "-" if self.shipped else f"{row.produced - row.read:,}"

    @property
    def names(self) -> tuple[str, str]:
        """What is produced, and what is read."""
        return ("orders", "shipments") if self.shipped else ("produced", "read")


class Screen:
    """Shows the events of the demo, and the current state below them."""

    def __init__(self, view: Callable[[], View], console: Console | None = None) -> None:
        self._view = view
        self._console = console or Console(highlight=False)
        self._began = time.monotonic()
        self._events: list[tuple[float, str]] = []
        self._live = Live(get_renderable=self._render, console=self._console, refresh_per_second=5)
        self._next_line = 0.0

    def event(self, text: str) -> None:
        """Show the next event; without a terminal, after the state that the previous one has led to."""
        if self._events and not self._console.is_terminal:
            self._print_state()
        self._events.append((time.monotonic() - self._began, text))
        if not self._console.is_terminal:
            self._console.print(f"[{_clock(self._events[-1][0])}] {text}", markup=False, soft_wrap=True)

    def tick(self) -> None:
        """Called regularly: prints a line from time to time. A terminal is refreshed automatically."""
        if not self._console.is_terminal and time.monotonic() >= self._next_line:
            self._print_state()

    def _print_state(self) -> None:
        self._next_line = time.monotonic() + _PLAIN_LINES_EVERY_S
        view = self._view()
        produced, read = view.names
        clusters = "; ".join(
            f"{r.cluster} {r.query}: {produced} {r.produced}, {read} {r.read}, "
            + ("" if view.shipped else f"lag {r.produced - r.read}, ")
            + f"amount {r.amount}"
            for r in view.rows
        )
        total = f"; not shipped yet: {view.lag}" if view.shipped else ""
        self._console.print(f"        {clusters}{total}; {view.driver}", markup=False, soft_wrap=True)

    def verdict(self, text: str, details: list[str], passed: bool) -> None:
        """Show the result at the end."""
        if self._console.is_terminal:
            style = "bold green" if passed else "bold red"
            body = Text("\n".join([text, *details]), style=style)
            self._console.print(Panel(body, title="verdict", style=style, padding=(1, 3), expand=False))
        else:
            self._console.print("\n".join([f"verdict: {text}", *details]), markup=False, soft_wrap=True)

    def failure(self, text: str) -> None:
        """Show the reason why there is no verdict."""
        self._console.print(text, markup=False, style="red", soft_wrap=True)

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def _render(self) -> RenderableType:
        view = self._view()
        now = time.monotonic() - self._began
        story = Text()
        for number, (at, text) in enumerate(self._events):
            latest = number == len(self._events) - 1
            story.append(f" {_clock(at)}  ", style="dim")
            story.append(f"{'▶' if latest else '✔'} {text}\n", style="bold" if latest else "")
        story.rstrip()
        title = f"Dynamic Kafka for Spark · demo · {_clock(now)}"
        return Panel(Group(story, _table(view), Text(f" {view.driver}")), title=title, expand=False, width=92)


def _table(view: View) -> Table:
    table = Table(box=box.SIMPLE_HEAD, expand=True, show_footer=True)
    produced, read = sum(r.produced for r in view.rows), sum(r.read for r in view.rows)
    table.add_column("cluster", "total")
    for name in ("broker", "in metadata", "in query"):
        table.add_column(name)
    amount = sum(r.amount for r in view.rows)
    of = (*view.names, "lag", "amount")
    for name, total in zip(of, (produced, read, view.lag, amount), strict=True):
        table.add_column(name, f"{total:,}", justify="right", min_width=7)
    for row in view.rows:
        states = [Text(s, style=_STYLES.get(s, "dim")) for s in (row.broker, row.metadata, row.query)]
        numbers = [f"{row.produced:,}", f"{row.read:,}", view.lag_of(row), f"{row.amount:,}"]
        table.add_row(Text(row.cluster, style=f"bold {row.cluster}"), *states, *numbers)
    return table


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
