"""What tests on real brokers and real drivers share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

# The testkit is no package that anybody installs.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "jvm" / "testkit" / "python"))

from tests.harness.drivers import Drivers
from tests.harness.scene import Scene

if TYPE_CHECKING:
    from dynamic_kafka_testkit import Cluster, Testkit


@pytest.fixture(scope="session")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drivers]:
    """Drivers of the whole run."""
    drivers = Drivers(tmp_path_factory.mktemp("drivers"))
    drivers.prepare()
    yield drivers
    drivers.close()


@pytest.fixture(scope="session")
def brokers(testkit: Testkit) -> dict[str, Cluster]:
    """Clusters of the whole run: a test that breaks one mends it."""
    names = ("blue", "green", "red")
    return dict(zip(names, testkit.start_all(*names), strict=True))


@pytest.fixture
def scene(tmp_path: Path, brokers: dict[str, Cluster], drivers: Drivers) -> Iterator[Scene]:
    """The stage of one test."""
    scene = Scene(tmp_path, brokers, drivers)
    yield scene
    scene.close()
