"""``python -m benchmark``: runs the steps, prints tables, writes JSON. Missing a target is no failure."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from rich.console import Console

from benchmark import report
from benchmark.context import Context, Testkit
from benchmark.machine import Load
from benchmark.paths import ROOT
from benchmark.results import Results
from benchmark.sizes import chosen
from benchmark.steps import STEPS


def main() -> None:
    """Exit code 0 whatever is found, so that no slow machine fails a build."""
    arguments = _arguments()
    # A killed benchmark ends its brokers as one that is interrupted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sizes = chosen(arguments.smoke, arguments.records, arguments.rounds)
    results = Results()
    # A pipe tells no width, and wide tables are unreadable in the 80 columns that are assumed then.
    console = Console(width=None if sys.stdout.isatty() else 150)
    progress = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="dynamic-kafka-bench-"))
    try:
        with Testkit() as testkit:
            bench = Context(
                testkit, sizes, results, folder, lambda text: progress.print("  " + text, highlight=False)
            )
            for step in arguments.steps:
                progress.rule(step, align="left")
                load = Load()
                try:
                    STEPS[step](bench)
                except Exception as error:
                    # The others are worth having; what failed is in the report.
                    results.failures[step] = str(error)
                    traceback.print_exc()
                results.machine.append({"step": step, **load.stop()})
            bench.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if results.raw:
            report.show(results, console)
            console.print("raw figures:", str(report.write(results, sizes, arguments.out)), soft_wrap=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmark", description=__doc__)
    parser.add_argument(
        "--steps",
        nargs="+",
        choices=list(STEPS),
        default=list(STEPS),
        metavar="STEP",
        help=f"some of: {' '.join(STEPS)} (default: all)",
    )
    parser.add_argument("--records", type=int, help="of each large topic (default: 3,000,000)")
    parser.add_argument("--rounds", type=int, help="that are kept; cold ones come before (default: 5)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmark-results", help="folder of the results")
    parser.add_argument("--smoke", action="store_true", help="tiny sizes: does it run? Its figures say nothing")
    return parser.parse_args()


if __name__ == "__main__":
    main()
