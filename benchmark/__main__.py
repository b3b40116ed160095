"""``python -m benchmark``: runs the steps, prints tables and writes JSON. A missed target is not a failure."""

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
    """Run the benchmark. The exit code is 0 whatever the results are, so that a slow machine does not fail a build."""
    arguments = _arguments()
    # SIGTERM ends the brokers as an interrupt does.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sizes = chosen(arguments.smoke, arguments.records, arguments.rounds)
    results = Results()
    # A pipe has no width. The assumed 80 columns are too few for the tables.
    console = Console(width=None if sys.stdout.isatty() else 150)
    progress = Console(stderr=True)
    folder = Path(tempfile.mkdtemp(prefix="dynamic-kafka-bench-"))
    try:
        with Testkit() as testkit:
            bench = Context(
                testkit,
                sizes,
                results,
                folder,
                lambda text: progress.print("  " + text, highlight=False),
                arguments.former,
            )
            for step in arguments.steps:
                progress.rule(step, align="left")
                load = Load()
                try:
                    STEPS[step](bench)
                except Exception as error:
                    # The other steps still run; the report contains the failure.
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
    parser.add_argument("--records", type=int, help="records of each large topic (default: 3,000,000)")
    parser.add_argument("--rounds", type=int, help="measured rounds, after the cold ones (default: 5)")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmark-results", help="folder for the results")
    parser.add_argument(
        "--former",
        type=Path,
        metavar="FOLDER",
        help="another version of the Python package, with which 'commands' takes turns (default: none)",
    )
    parser.add_argument("--smoke", action="store_true", help="tiny sizes, to check that it runs")
    return parser.parse_args()


if __name__ == "__main__":
    main()
