"""Prints results to standard output, and problems of the input to standard error."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import click

from dynamic_kafka._tools.metadata_file.problem import Problem


def print_json(value: object) -> None:
    """Prints one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_problems(problems: Iterable[Problem], file: str) -> None:
    """Prints one line per problem."""
    for problem in problems:
        click.echo(problem.text(file), err=True)


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], right: frozenset[str] = frozenset()
) -> None:
    """Prints a table.

    Args:
        header: Names of the columns.
        rows: Values; None is printed as an empty cell.
        right: Names of right-aligned columns.
    """
    cells = [[*header], *(["" if value is None else str(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(row, widths, header, strict=True)
        )
        click.echo("  ".join(padded).rstrip())


def count(number: int, thing: str) -> str:
    """Returns ``1 stream`` or ``2 streams``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
