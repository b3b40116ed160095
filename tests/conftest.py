"""Fixtures of tests with real brokers and drivers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The testkit is not an installed package.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jvm" / "testkit" / "python"))

from dynamic_kafka_testkit import Cluster, Testkit

from tests import class_data
from tests.harness.driver_pool import DriverPool
from tests.harness.orders import Orders
from tests.harness.pipelines import Pipelines
from tests.harness.scene import Scene
from tests.harness.seed import VARIABLE, seed
from tests.soak.losses import BROKER

# Before the workers start, which inherit it.
seed()

# For brokers, drivers and all other JVMs of the tests.
os.environ.setdefault("JDK_JAVA_OPTIONS", class_data.java_options())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how to repeat the run."""
    terminalreporter.write_line(f"{VARIABLE}={seed()}")


# The slowest files, in seconds on two idle cores. If they started last, one worker would be busy alone at the end.
SECONDS = Path(__file__).with_name("seconds.txt")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the slowest files first. The tests of a file run in one worker, because they share module fixtures."""
    seconds = dict(line.split() for line in SECONDS.read_text().splitlines())
    items.sort(key=lambda item: -float(seconds.get(item.path.name, 0)))


@pytest.fixture(scope="session")
def testkit() -> Iterator[Testkit]:
    """The testkit server of the whole run, for tests that need clusters of their own."""
    with Testkit() as testkit:
        yield testkit


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DriverPool]:
    """The drivers of the whole run."""
    drivers = DriverPool(tmp_path_factory.mktemp("drivers"))
    drivers.prepare()
    yield drivers
    drivers.close()


@pytest.fixture(scope="session")
def brokers(testkit: Testkit) -> dict[str, Cluster]:
    """The clusters of the whole run: a test that stops one restarts it."""
    names = ("blue", "green", "red")
    return dict(zip(names, testkit.start_all(*names, properties=BROKER), strict=True))


@pytest.fixture
def orders(brokers: dict[str, Cluster], tmp_path_factory: pytest.TempPathFactory) -> Orders:
    """The stream `orders` on blue and green, at their current addresses: other tests move them."""
    return Orders.on(brokers, tmp_path_factory.mktemp("orders"), "blue", "green")


@pytest.fixture
def scene(tmp_path: Path, brokers: dict[str, Cluster], drivers: DriverPool) -> Iterator[Scene]:
    """The environment of one test."""
    scene = Scene(tmp_path, brokers, drivers)
    yield scene
    scene.close()


@pytest.fixture(scope="session")
def old(testkit: Testkit) -> Cluster:
    """A cluster of the oldest supported version of Kafka, shared like `brokers`."""
    return testkit.start("old", version=testkit.versions()[-1])


@pytest.fixture
def pipelines(
    tmp_path: Path, brokers: dict[str, Cluster], old: Cluster, drivers: DriverPool
) -> Iterator[Pipelines]:
    """The environment of one test with queries that write."""
    pipelines = Pipelines(tmp_path, {**brokers, "old": old}, drivers)
    yield pipelines
    pipelines.close()
