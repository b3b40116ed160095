"""Commands that ask no cluster, as whole processes: how long a user waits for the program itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from benchmark.context import Context
from benchmark.paths import ROOT
from benchmark.stats import Spread, ratios

STEP = "commands"
ARCHIVE_LIMIT_S = 300


def run(bench: Context) -> None:
    """Run the commands in turn, with the former version of the package, if there is one, between these."""
    commands = _commands(bench.folder)
    packages = {"product": ROOT / "python/src"} | ({"former": bench.former} if bench.former else {})
    cache = bench.folder / "cache"
    first, cpu = _measure(packages["product"], cache, commands["validate"])
    bench.results.add(STEP, command="validate", package="product", round=-1, cold=True, wall_s=first, cpu_s=cpu)
    bench.say(f"the first call, without an archive of classes: {first:.2f} s")
    _await_archive(cache)
    rows = []
    for name, arguments in commands.items():
        found: dict[str, list[float]] = {package: [] for package in packages}
        for round_ in range(bench.sizes.cold_rounds + bench.sizes.cost_rounds):
            cold = round_ < bench.sizes.cold_rounds
            for package, path in packages.items():
                wall, cpu = _measure(path, cache, arguments)
                bench.results.add(
                    STEP, command=name, package=package, round=round_, cold=cold, wall_s=wall, cpu_s=cpu
                )
                if not cold:
                    found[package].append(wall)
        row = [name, *(Spread.of(seconds).show() for seconds in found.values())]
        if bench.former:
            ratio = ratios(found["product"], found["former"])
            bench.results.value(f"{STEP}.{name}", ratio.median)
            row.append(ratio.show())
        rows.append(row)
    columns = ["command", *packages, *(["ratio"] if bench.former else [])]
    bench.results.table("Commands, s", columns, rows)


def _commands(folder: Path) -> dict[str, Sequence[str]]:
    file, checkpoint = folder / "commands.yaml", folder / "commands"
    (checkpoint / "offsets").mkdir(parents=True)
    clusters = [f"cluster-{i}" for i in range(4)]
    file.write_text(
        json.dumps(
            {
                "version": 1,
                "clusters": {c: {"properties": {"bootstrap.servers": f"{c}:9092"}} for c in clusters},
                "streams": {"orders": {"clusters": {c: {"topics": ["orders"]} for c in clusters}}},
            }
        )
    )
    positions = {str(partition): 1_000 + partition for partition in range(16)}
    offset = {"version": 2, "clusters": {c: {"orders": positions} for c in clusters}}
    (checkpoint / "offsets/0").write_text(f"v1\n{{}}\n{json.dumps(offset)}")
    return {"validate": ["validate", str(file)], "offsets": ["offsets", str(checkpoint), "--no-lag"]}


def _measure(package: Path, cache: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """The seconds of a process, and those of its CPU."""
    environment = os.environ | {"PYTHONPATH": str(package), "XDG_CACHE_HOME": str(cache)}
    # Java makes no archive of classes while it uses another one.
    environment.pop("JDK_JAVA_OPTIONS", None)
    before, begin = getrusage(RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "dynamic_kafka", *arguments],
        env=environment,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    wall, after = time.monotonic() - begin, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _await_archive(cache: Path) -> None:
    """The first call has started a process that makes it."""
    deadline = time.monotonic() + ARCHIVE_LIMIT_S
    while not list(cache.glob("dynamic-kafka/*.jsa")):
        if time.monotonic() > deadline:
            raise TimeoutError("no archive of classes was made")
        # The process that makes it has no relation to this one, so that there is nothing to wait for but the file.
        time.sleep(0.5)
