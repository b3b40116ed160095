"""Records a run of the demo in a terminal, and makes one animated SVG of it: `make picture`.

It knows nothing of the demo: it is the terminal of any command, and keeps what that command shows.
"""

from __future__ import annotations

import argparse
import errno
import fcntl
import itertools
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pyte

from website.animation import Frame, Line, Run, animate

COLUMNS, ROWS = 94, 34
# A screen is complete when nothing follows it for so long.
_QUIET_S = 0.04
# Of the picture, whatever the run takes: a frame is shown for its share, within these limits. Changed words are a
# frame; if only numbers have changed, there are about this many frames.
_PICTURE_S, _SHORTEST_S, _LONGEST_S, _LAST_S = 45.0, 0.5, 1.6, 6.0
_OF_NUMBERS = 30
_LARGEST = 400_000


def record(command: list[str]) -> tuple[list[tuple[float, tuple[Line, ...]]], int]:
    """The screens of the command with their times, and its exit code."""
    screen = pyte.Screen(COLUMNS, ROWS)
    stream = pyte.ByteStream(screen)
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = os.environ | {"TERM": "xterm", "COLORTERM": "", "COLUMNS": str(COLUMNS), "LINES": str(ROWS)}
    process = subprocess.Popen(command, stdin=child, stdout=child, stderr=child, env=environment)
    os.close(child)
    began, screens = time.monotonic(), []
    while (fed := _feed(parent, stream)) is not None:
        if not fed and screen.dirty:
            screens.append((time.monotonic() - began, _lines(screen)))
            screen.dirty.clear()
    screens.append((time.monotonic() - began, _lines(screen)))
    return screens, process.wait()


def _feed(parent: int, stream: pyte.ByteStream) -> bool | None:
    """Pass on what the command has written, if anything; none when it has ended."""
    if not select.select([parent], [], [], _QUIET_S)[0]:
        return False
    try:
        data = os.read(parent, 65536)
    except OSError as error:
        # Linux says so at the end of a terminal.
        if error.errno != errno.EIO:
            raise
        return None
    stream.feed(data)
    return True if data else None


def _lines(screen: pyte.Screen) -> tuple[Line, ...]:
    """The screen as runs of one style."""
    found = []
    for row in range(screen.lines):
        runs: list[Run] = []
        for column in range(screen.columns):
            char = screen.buffer[row][column]
            run = Run(char.data, char.fg, char.bold)
            if runs and (runs[-1].color, runs[-1].bold) == (run.color, run.bold):
                runs[-1] = Run(runs[-1].text + run.text, run.color, run.bold)
            else:
                runs.append(run)
        text = "".join(run.text for run in runs)
        found.append(tuple(runs) if text.strip() else ())
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def frames(screens: list[tuple[float, tuple[Line, ...]]]) -> list[Frame]:
    """The frames of the picture: what differs in words at once, what differs in numbers from time to time."""
    chosen = screens[:1]
    every = screens[-1][0] / _OF_NUMBERS
    for at, lines in screens[1:]:
        before, shown = chosen[-1]
        if _words(lines) != _words(shown) or (lines != shown and at - before >= every):
            chosen.append((at, lines))
    if chosen[-1][1] != screens[-1][1]:
        chosen.append(screens[-1])
    scale = _PICTURE_S / max(chosen[-1][0], 1.0)
    times = [at for at, _ in chosen]
    lengths = [min(max((b - a) * scale, _SHORTEST_S), _LONGEST_S) for a, b in itertools.pairwise(times)]
    # A long run has more frames than the picture has time for.
    lengths = [length * min(1.0, _PICTURE_S / sum(lengths)) for length in lengths]
    return [Frame(round(s, 2), lines) for s, (_, lines) in zip([*lengths, _LAST_S], chosen, strict=True)]


def _words(lines: tuple[Line, ...]) -> str:
    text = "\n".join("".join(run.text for run in line) for line in lines)
    return "".join(char for char in text if not char.isdigit() and char not in " ,-─")


def main() -> int:
    """Record the command and write the picture; return its exit code."""
    parser = argparse.ArgumentParser(description="Makes an animated SVG of what a command shows in a terminal.")
    parser.add_argument("output", type=Path)
    parser.add_argument("--title", required=True)
    parser.add_argument("--label", required=True, help="what the picture shows, for those who do not see it")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    screens, code = record([word for word in args.command if word != "--"])
    if code != 0:
        print("\n".join("".join(run.text for run in line).rstrip() for line in screens[-1][1]), file=sys.stderr)
        return code
    picture = animate(frames(screens), COLUMNS, args.title, args.label)
    if len(picture) > _LARGEST:
        print(f"The picture has {len(picture):,} bytes, and may have {_LARGEST:,}.", file=sys.stderr)
        return 1
    args.output.write_text(picture)
    print(f"{args.output}: {len(picture):,} bytes, {len(screens)} screens")
    return 0


if __name__ == "__main__":
    sys.exit(main())
