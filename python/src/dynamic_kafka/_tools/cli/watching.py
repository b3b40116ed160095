"""``--watch``: the output of a command, again and again."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from contextlib import redirect_stdout

import click

_INTERVAL_S = 2.0

as_watch = click.option("--watch", is_flag=True, help="Repeat it every 2 seconds, until Ctrl-C.")


def check(watch: bool, as_json: bool) -> None:
    """Refuses what ``--watch`` does not go with. Exits with 1 if its library is missing."""
    if watch and as_json:
        raise click.UsageError("--watch has no --json: run the command repeatedly.")
    if watch:
        try:
            import rich.live  # noqa: F401
        except ImportError:
            click.echo("--watch needs rich: pip install 'dynamic-kafka[cli]'", err=True)
            raise SystemExit(1) from None


def repeat(show: Callable[[], object], errors: tuple[type[Exception], ...]) -> None:
    """Shows the standard output of a function on a screen, until Ctrl-C.

    An error, such as that of a file that is just written, is shown until the next time.
    """
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def text() -> Text:
        shown = io.StringIO()
        with redirect_stdout(shown):
            try:
                show()
            except errors as e:
                click.echo(str(e))
        return Text(shown.getvalue())

    console = Console()
    with Live(text(), console=console, screen=console.is_terminal, auto_refresh=False) as live:
        try:
            while True:
                wait()
                live.update(text(), refresh=True)
        except KeyboardInterrupt:
            pass


def wait() -> None:
    """Until the next time."""
    time.sleep(_INTERVAL_S)
