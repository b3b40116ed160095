"""Programs that are submitted to a standalone Spark cluster, as users do: `spark-submit` with each deploy mode."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import jars
from tests.harness.copied_orders import PROGRAM, Copies
from tests.harness.scala_compiler import compiled
from tests.harness.scene import Scene
from tests.harness.standalone import COMPLETE, SMALL, Standalone, standalone

from .home import COORDINATE, conf, environment, published

CORES_OF_A_WORKER = 2


@pytest.mark.test_all
def test_a_program_in_client_mode(scene: Scene) -> None:
    copies = Copies(scene)
    with standalone(scene.folder / "spark", cores=CORES_OF_A_WORKER) as spark, copies.watcher():
        program = ["--packages", COORDINATE, "--jars", str(jars.testkit_jar()), str(PROGRAM)]
        with _submitted(spark, "client", scene.folder, [*program, *copies.arguments]) as submitted:
            hanging = copies.hanging_executor(submitted)
            assert len(spark.executors()) == 4
            os.kill(hanging, signal.SIGKILL)
            copies.await_exact()

            # A machine that fails takes its worker and all executors of it along.
            os.killpg(next(iter(spark.workers.values())), signal.SIGKILL)
            copies.produce()
            copies.await_exact()
            assert submitted.poll() is None
    copies.check()


@pytest.mark.test_all
def test_a_program_in_cluster_mode(scene: Scene) -> None:
    _, artifact, version = COORDINATE.split(":")
    jar = compiled(
        PROGRAM.with_name("CopyOrders.scala"), scene.folder, [published() / f"{artifact}-{version}.jar"]
    )
    copies = Copies(scene)
    with standalone(scene.folder / "spark", cores=CORES_OF_A_WORKER) as spark, copies.watcher():
        # A worker starts the driver, which would resolve `--packages`, but for itself only: not for executors.
        options = ["--jars", ",".join(map(str, [*jars.connector_jars(), jars.testkit_jar()]))]
        options += ["--supervise", "--class", "CopyOrders", "--driver-memory", "512m"]
        with _submitted(spark, "cluster", scene.folder, [*options, str(jar), *copies.arguments]) as submitted:
            assert submitted.wait(300) == 0
        hanging = copies.hanging_executor()
        (driver,) = spark.drivers()
        assert len(spark.executors()) == 3
        os.kill(hanging, signal.SIGKILL)
        copies.await_exact()

        # The worker of the driver starts it again.
        os.kill(driver, signal.SIGKILL)
        copies.produce()
        copies.await_exact()
        assert spark.drivers() - {driver}
    copies.check()


@contextmanager
def _submitted(
    spark: Standalone, mode: str, folder: Path, program: list[str]
) -> Iterator[subprocess.Popen[bytes]]:
    settings = [argument for pair in (SMALL | COMPLETE).items() for argument in ("--conf", "=".join(pair))]
    command = [
        str(Path(sys.executable).with_name("spark-submit")),
        "--master",
        spark.master,
        "--deploy-mode",
        mode,
    ]
    command += [*conf(folder), *settings, *program]
    log = folder / "submit.log"
    with log.open("wb") as out:
        submitted = subprocess.Popen(
            command, cwd=folder, env=environment(), stdout=out, stderr=out, start_new_session=True
        )
    try:
        yield submitted
    finally:
        if submitted.poll() is None:
            os.killpg(submitted.pid, signal.SIGKILL)
        submitted.wait()
