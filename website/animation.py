"""Frames of a terminal as one animated SVG, which needs no script. Pure: a frame is given, not recorded, here."""

from __future__ import annotations

import html
from dataclasses import dataclass

# Names of colors as a terminal has them, on a dark background; contrast of at least 4.5 with it.
COLORS = {
    "black": "#8b98a5",
    "red": "#ff8a80",
    "green": "#6ee0a4",
    "brown": "#f2c14e",
    "blue": "#7cc0ff",
    "magenta": "#dda0ff",
    "cyan": "#67d8e6",
    "white": "#e6edf3",
}
_FOREGROUND, _BACKGROUND, _BAR = "#d5dee6", "#0f1b26", "#1b2a38"
_CHAR_W, _LINE_H, _TOP, _PAD = 7.23, 17, 34, 14


@dataclass(frozen=True)
class Run:
    """Text of one style."""

    text: str
    color: str = "default"
    bold: bool = False


Line = tuple[Run, ...]


@dataclass(frozen=True)
class Frame:
    """The lines of the terminal, and for how long they are shown."""

    seconds: float
    lines: tuple[Line, ...]


def animate(frames: list[Frame], columns: int, title: str, label: str) -> str:
    """The SVG. A line that is the same in consecutive frames is in it once; who wants no motion sees the last frame."""
    total = sum(frame.seconds for frame in frames)
    rows = max(len(frame.lines) for frame in frames)
    width, height = columns * _CHAR_W + 2 * _PAD, rows * _LINE_H + _TOP + _PAD
    shown: dict[tuple[int, Line], list[tuple[float, float]]] = {}
    now = 0.0
    for frame in frames:
        for row, line in enumerate(frame.lines):
            if line:
                spans = shown.setdefault((row, line), [])
                if spans and spans[-1][1] == now:
                    spans[-1] = (spans[-1][0], now + frame.seconds)
                else:
                    spans.append((now, now + frame.seconds))
        now += frame.seconds
    # Lines that are shown at the same times share a rule.
    groups: dict[tuple[tuple[float, float], ...], list[str]] = {}
    for (row, line), times in shown.items():
        groups.setdefault(tuple(times), []).append(_text(row, line))
    rules, bodies = [], []
    for number, (spans_of, texts) in enumerate(groups.items()):
        last = " l" if spans_of[-1][1] == now else ""
        bodies.append(f'<g class="f{last}" style="animation-name:k{number}">{"".join(texts)}</g>')
        rules.append(f"@keyframes k{number}{{{_steps(spans_of, total)}}}")
    colors = "".join(f".{name}{{fill:{value}}}" for name, value in COLORS.items())
    style = (
        f"text{{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'Liberation Mono',monospace;fill:{_FOREGROUND};"
        f"white-space:pre}}.b{{font-weight:700}}{colors}"
        f".f{{visibility:hidden;animation:{total:.1f}s step-end infinite}}"
        + "".join(rules)
        + "@media (prefers-reduced-motion:reduce){.f{animation:none}.l{visibility:visible}}"
    )
    dots = "".join(
        f'<circle cx="{_PAD + 6 + 18 * n}" cy="17" r="5.5" fill="{color}"/>'
        for n, color in enumerate(("#f2655c", "#f2c14e", "#6ee0a4"))
    )
    middle = f'<text x="{width / 2:.0f}" y="21" text-anchor="middle">{html.escape(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img" '
        f'aria-label="{html.escape(label)}"><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>'
        f'<path d="M0 8a8 8 0 0 1 8-8H{width - 8:.0f}a8 8 0 0 1 8 8V30H0z" fill="{_BAR}"/>'
        f"{dots}{middle}{''.join(bodies)}</svg>\n"
    )


def _text(row: int, line: Line) -> str:
    """A line; each run at its column, so that the width of the font does not matter."""
    column, spans = 0, []
    for run in line:
        stripped = run.text.strip()
        if stripped:
            at = column + len(run.text) - len(run.text.lstrip())
            classes = " ".join(filter(None, ("b" if run.bold else "", run.color if run.color in COLORS else "")))
            length = f' textLength="{len(stripped) * _CHAR_W:.1f}"' if len(stripped) > 1 else ""
            named = f' class="{classes}"' if classes else ""
            spans.append(f'<tspan x="{_PAD + at * _CHAR_W:.1f}"{length}{named}>{html.escape(stripped)}</tspan>')
        column += len(run.text)
    return f'<text y="{_TOP + 12 + row * _LINE_H}">{"".join(spans)}</text>'


def _steps(times: tuple[tuple[float, float], ...], total: float) -> str:
    """The keyframes of something that is visible at these times."""
    steps = {0.0: "hidden"}
    for begin, end in times:
        steps[begin / total * 100] = "visible"
        if end < total:
            steps[end / total * 100] = "hidden"
    return "".join(f"{at:.2f}%{{visibility:{value}}}" for at, value in sorted(steps.items()))
