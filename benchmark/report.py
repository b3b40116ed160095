"""Tables for people, JSON for everything else."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyspark
from rich.console import Console
from rich.table import Table as RichTable

from benchmark import machine
from benchmark.paths import ROOT
from benchmark.results import Results, Table
from benchmark.sizes import Sizes
from benchmark.targets import TARGETS


def show(results: Results, console: Console) -> None:
    """Print all tables, the targets last."""
    for table in _all(results):
        rich = RichTable(*table.columns, title=table.title, title_justify="left")
        for row in table.rows:
            rich.add_row(*row)
        console.print(rich)
        console.print()
    for step, reason in results.failures.items():
        console.print(f"[red]{step} failed:[/red]", reason, markup=True)


def _all(results: Results) -> list[Table]:
    return [*results.tables, machine_table(results), target_table(results)]


def target_table(results: Results) -> Table:
    """The table of the targets, with `met` or `MISSED`."""
    rows = []
    for name, target in TARGETS.items():
        value = results.values.get(name)
        verdict = "not measured" if value is None else "met" if target.met(value) else "MISSED"
        rows.append([target.text, target.show(), "" if value is None else f"{value:.2f}", verdict])
    return Table("Targets", ["what", "target", "measured", ""], rows)


def machine_table(results: Results) -> Table:
    """The table of the load of the machine."""
    keys = ["seconds", "cores_ours", "cores_of_others", "cores_stolen", "load_average"]
    return Table(
        "The machine in each step (distrust a step with cores_of_others not near 0)",
        ["step", *keys],
        [[step["step"], *(f"{step[key]:.2f}" for key in keys)] for step in results.machine],
    )


def write(results: Results, sizes: Sizes, folder: Path) -> Path:
    """Write every raw figure to one file, and the tables as Markdown next to it.

    Returns:
        The path of the file.
    """
    now = datetime.now(timezone.utc)
    document: dict[str, Any] = {
        "when": now.isoformat(timespec="seconds"),
        "commit": _commit(),
        "spark": pyspark.__version__,
        "machine": machine.describe(),
        "sizes": asdict(sizes),
        "targets": {
            name: {
                **asdict(target),
                "value": results.values.get(name),
                "met": target.met(results.values[name]) if name in results.values else None,
            }
            for name, target in TARGETS.items()
        },
        "load": results.machine,
        "failures": results.failures,
        "tables": [asdict(table) for table in results.tables],
        "raw": results.raw,
    }
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"bench-{now:%Y%m%dT%H%M%SZ}.json"
    file.write_text(json.dumps(document, indent=1) + "\n")
    file.with_suffix(".md").write_text("\n".join(map(_markdown, _all(results))))
    return file


def _markdown(table: Table) -> str:
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "\n".join([f"**{table.title}**", "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def _commit() -> str:
    answer = subprocess.run(
        ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    return answer.stdout.strip() or "unknown"
